"""Scripts that try to get out of a sandbox, for tests that none of them works.

Each may only harm what the test put there for it: files in $OUT and in a home of the test's own, a process $VICTIM,
sockets that listen. Where success would change the machine itself, a script looks whether it could, changes nothing,
and says ESCAPED. So a sandbox that fails is found out, and nothing else happens.
"""

from msgspec import Struct


class Breakout(Struct, frozen=True):
    """One attempt."""

    script: str  # For bash.
    works: bool = True  # Whether it succeeds without a sandbox, which shows that it is a real attempt.


def python(code: str, *, works: bool = True) -> Breakout:
    """Return an attempt by this Python code, which has `ctypes`, `os`, `socket` and `libc`."""
    return Breakout(
        f"python3 -I -S - <<'END'\nimport ctypes, os, socket\nlibc = ctypes.CDLL(None, use_errno=True)\n{code}\nEND",
        works,
    )


def looks(condition: str) -> Breakout:
    """Return an attempt that says ESCAPED if this condition of bash holds; without a sandbox it need not."""
    return Breakout(f"if {condition}; then echo ESCAPED; fi", works=False)


def call(number: str, *args: str) -> Breakout:
    """Return an attempt to make a system call, by its numbers on x86-64 and aarch64; not to fail is to escape."""
    x86, arm = number.split("/")
    given = ", ".join(args)
    return python(
        f"number = {x86} if os.uname().machine == 'x86_64' else {arm}\n"
        f"if libc.syscall(number, {given}) >= 0: print('ESCAPED')",
        works=False,
    )


HEAR = "b = s.recv(99); print(b)"
CHANGES = {
    "absolute path": Breakout("echo x > $OUT/target"),
    "path with dots": Breakout("echo x > ../outside/target"),
    "append": Breakout("echo x >> $OUT/target"),
    "new file": Breakout("touch $OUT/new"),
    "new folder": Breakout("mkdir -p $OUT/a/b"),
    "link to the folder": Breakout("ln -s $OUT link; echo x > link/target"),
    "link to the file": Breakout("ln -s $OUT/target link; echo x > link"),
    "links in a chain": Breakout("ln -s $OUT a; ln -s a b; ln -s b/target c; echo x > c"),
    "hard link": Breakout("ln $OUT/target hard && echo x > hard"),
    "root of this process": Breakout("echo x > /proc/self/root$OUT/target"),
    "root of the first process": Breakout("echo x > /proc/1/root$OUT/target", works=False),
    "root of another process": Breakout("echo x > /proc/$VICTIM/root$OUT/target"),
    "folder of another process": Breakout("echo x > /proc/$VICTIM/cwd/target"),
    "folder of the agent": Breakout("echo x > /proc/$AGENT/root$OUT/target"),
    "descriptor of another process": Breakout("echo x > /proc/$VICTIM/fd/1"),
    "move into": Breakout("touch f; mv f $OUT/"),
    "move away": Breakout("mv $OUT/target here"),
    "copy with its owner": Breakout("touch f; cp -a f $OUT/"),
    "truncate": Breakout("truncate -s 0 $OUT/target"),
    "dd": Breakout("dd if=/dev/zero of=$OUT/target bs=1 count=1 conv=notrunc status=none"),
    "tar with absolute names": Breakout(
        "mkdir -p in; touch in/new; tar -cPf t.tar --transform=s,in,$OUT, in/new; tar -xPf t.tar"
    ),
    "mode": Breakout("chmod 777 $OUT/target"),
    "time": Breakout("touch -d 2001-01-01 $OUT/target"),
    "attributes": python("os.setxattr(os.environ['OUT'] + '/target', 'user.x', b'x')"),
    "delete": Breakout("rm -rf $OUT/target"),
    "file without a name": python(
        "out = os.environ['OUT']; fd = os.open(out, os.O_TMPFILE | os.O_RDWR)\n"
        "libc.linkat(-100, f'/proc/self/fd/{fd}'.encode(), -100, f'{out}/new'.encode(), 0x400)"
    ),
    "program in memory": python(
        "fd = os.memfd_create('x', 0); os.write(fd, b'#!/bin/sh\\necho x > $OUT/target\\n')\n"
        "os.execve(f'/proc/self/fd/{fd}', ['x'], dict(os.environ))"
    ),
    "a shell's start file": Breakout("echo x >> $REAL_HOME/.bashrc"),
    "a login": Breakout("echo x >> $REAL_HOME/.ssh/authorized_keys"),
    "a service of the user": Breakout(
        "mkdir -p $REAL_HOME/.config/systemd/user; echo x > $REAL_HOME/.config/systemd/user/x.service"
    ),
    "shared memory": Breakout("echo x > $SHM"),
    "mapping": python(
        "import mmap\nfd = os.open(os.environ['OUT'] + '/target', os.O_RDWR)\nmmap.mmap(fd, 1)[0:1] = b'x'"
    ),
    "daemon": Breakout("(setsid sh -c 'sleep 0.05; echo x > $OUT/target' >/dev/null 2>&1 &); sleep 0.3"),
}
SET_ID = {
    # A file that runs as its owner would still do so outside.
    f"{'group' if bit == 0o2000 else 'user'} id by {name}": python(
        f"at = {{'x86_64': 0, 'aarch64': 1}}[os.uname().machine]; mode = {bit} | 0o755\n"
        f"os.close(os.open('f', os.O_CREAT | os.O_WRONLY, 0o755)); fd = os.open('f', os.O_RDONLY)\n"
        f"{code}\n"
        "import stat\n"
        "if any(os.lstat(p).st_mode & 0o6000 and stat.S_ISREG(os.lstat(p).st_mode) for p in os.listdir('.')): "
        "print('ESCAPED')"
    )
    for bit in (0o4000, 0o2000)
    for name, code in {
        "chmod": "libc.chmod(b'f', mode)",
        "fchmod": "libc.fchmod(fd, mode)",
        "fchmodat": "libc.syscall((268, 53)[at], -100, b'f', mode)",
        "fchmodat2": "libc.syscall(452, -100, b'f', mode, 0); libc.syscall(452, fd, b'', mode, 0x1000) ;"
        "libc.chmod(b'f', mode)",  # Older kernels have none.
        "mode with dirt in it": "libc.syscall((268, 53)[at], -100, b'f', ctypes.c_ulong(mode | 0xdead0000beef0000))",
        "open": "libc.open(b'g', os.O_CREAT | os.O_WRONLY, mode)",
        "openat": "libc.syscall((257, 56)[at], -100, b'g', os.O_CREAT | os.O_WRONLY, mode)",
        "openat2": "how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, mode, 0)\n"
        "libc.syscall(437, -100, b'g', ctypes.byref(how), 24)",
        "a file without a name": "fd = os.open('.', os.O_TMPFILE | os.O_RDWR, mode)\n"
        "libc.linkat(-100, f'/proc/self/fd/{fd}'.encode(), -100, b'g', 0x400)",
        "creat": "libc.creat(b'g', mode)",
        "mknod": "libc.mknod(b'g', 0o100000 | mode, 0)",
        "mknodat": "libc.syscall((259, 33)[at], -100, b'g', 0o100000 | mode, 0)",
        "tar": "os.system('mkdir d && cp f d/f && tar -cf t.tar --mode=7755 d/f && rm -r d f && tar -xpf t.tar'"
        "' && mv d/f g')",
    }.items()
}
READS = {
    "file": Breakout("cat $OUT/target"),
    "file of a home": Breakout("cat $REAL_HOME/.ssh/id_rsa"),
    "file by way of ~": Breakout("cat ~/.ssh/id_rsa"),
    "keys of the agent": Breakout("cat $REAL_HOME/.linnet/auth.json"),
    "history": Breakout("cat $REAL_HOME/.bash_history"),
    "all of a home": Breakout("grep -rs '' $REAL_HOME"),
    "tokens of git": Breakout("cat $REAL_HOME/.gitconfig"),
    "keys of a toolchain": Breakout("cat $REAL_HOME/.cargo/credentials.toml"),
    "a link from the folder of work": Breakout("ln -s $REAL_HOME/.ssh keys; cat keys/id_rsa"),
    "temporary files": Breakout("cat $OUT/../in-tmp"),
    "shared memory": Breakout("cat $SHM"),
    "environments": Breakout("cat /proc/*/environ | tr '\\0' '\\n' | grep planted"),
    "command lines": Breakout("cat /proc/*/cmdline | tr '\\0' '\\n' | grep planted"),
    "environment of the agent's parent": Breakout("cat /proc/$VICTIM/environ"),
    "memory": python(
        "pid = os.environ['VICTIM']\n"
        "stack = next(line for line in open(f'/proc/{pid}/maps') if '[stack]' in line).split()[0].split('-')\n"
        "start, end = (int(each, 16) for each in stack)\n"
        "mem = open(f'/proc/{pid}/mem', 'rb', 0); mem.seek(start); print(mem.read(end - start).decode('latin-1'))"
    ),
    "trace": python("pid = int(os.environ['VICTIM'])\nif libc.ptrace(0x4206, pid, 0, 0) == 0: print('ESCAPED')"),
    "unix socket": python(f"s = socket.socket(socket.AF_UNIX); s.connect(os.environ['OUT'] + '/socket'); {HEAR}"),
    "agent of ssh": python(f"s = socket.socket(socket.AF_UNIX); s.connect(os.environ['SSH_AUTH_SOCK']); {HEAR}"),
    "abstract socket": python(f"s = socket.socket(socket.AF_UNIX); s.connect('\\0' + os.environ['ABSTRACT']); {HEAR}"),
    "tcp": python(f"s = socket.create_connection(('127.0.0.1', int(os.environ['TCP']))); {HEAR}"),
    "tcp by bash": Breakout("cat < /dev/tcp/127.0.0.1/$TCP"),
    "tcp by a name": python(f"s = socket.create_connection(('localhost', int(os.environ['TCP']))); {HEAR}"),
    "tcp over ipv6": python(f"s = socket.create_connection(('::1', int(os.environ['TCP6']))); {HEAR}"),
    "tcp to the machine's own address": python(
        f"s = socket.create_connection((os.environ['ADDRESS'], int(os.environ['TCP'])), 2); {HEAR}"
    ),
    "udp": python(
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.3)\n"
        f"s.sendto(b'x', ('127.0.0.1', int(os.environ['UDP']))); {HEAR}"
    ),
}
OTHERS = {
    "signal": Breakout("kill -9 $VICTIM"),
    "signal to a group": Breakout("kill -9 -- -$VICTIM"),
    "limits of another": Breakout(
        "prlimit --pid $VICTIM --nofile=7:7; "
        "test $(prlimit --pid $VICTIM --nofile -o SOFT --noheadings) = 7 && echo ESCAPED"
    ),
    "handle of another": python("fd = os.pidfd_open(int(os.environ['VICTIM'])); print('ESCAPED')"),
    "signal to the agent": looks("kill -0 $AGENT"),
    "signal to the supervisor": looks("kill -0 $SUPERVISOR"),
    "namespace of another": Breakout("nsenter -t $VICTIM -m echo ESCAPED", works=False),
    "namespace of the first": looks("nsenter -t 1 -m test -e $OUT"),
    "namespace by its file": looks("test -e /proc/$VICTIM/ns/mnt"),
    "new user namespace": looks("unshare -Ur true"),
    "new mount namespace": looks("unshare -m true"),
    "new namespace by a call": python("if libc.unshare(0x10000000) == 0: print('ESCAPED')", works=False),
    "new namespace by clone": python(
        "if libc.syscall(435, ctypes.byref((ctypes.c_uint64 * 8)(0x10000000)), 64) >= 0: print('ESCAPED')", works=False
    ),
    "mount": looks("mkdir -p m && mount -t tmpfs none m"),
    "mount of a folder": looks("mkdir -p m && mount --bind / m"),
    "mount again, to write": looks("mount -o remount,rw,bind /usr"),
    "unmount": looks("umount $HOME || umount -l /proc/sys"),
    "chroot": looks("chroot . /bin/true || chroot / /bin/true"),
    "pivot": looks("mkdir -p m && pivot_root . m"),
    "device": looks("mknod disk b 254 0 || mknod zero c 1 5 && head -c 1 zero"),
    "disk": looks("ls /dev/vd* /dev/sd* /dev/nvme* /dev/mem /dev/kmsg 2>/dev/null | grep ."),
    "capabilities": looks("! grep -q '^CapEff:.0*$' /proc/self/status || ! grep -q '^CapBnd:.0*$' /proc/self/status"),
    "programs that change the user": looks("! grep -q '^NoNewPrivs:.1$' /proc/self/status"),
    "settings of the kernel": looks("exec 9>>/proc/sys/kernel/core_pattern"),
    "settings by a link": looks("ln -s /proc/self/root/proc/sys/kernel/core_pattern p && exec 9>>p"),
    "keys of the system": looks("exec 9>>/proc/sysrq-trigger"),
    "groups of the kernel": looks(
        "find /sys/fs/cgroup -name release_agent -o -name cgroup.procs 2>/dev/null | grep -q ."
    ),
    "log of the kernel": looks("head -c 1 /proc/kmsg || dmesg"),
    "memory of the kernel": looks("head -c 1 /proc/kcore"),
    "passwords": looks("cat /etc/shadow || cat /etc/gshadow"),
    "keys of the machine": looks("cat /etc/ssh/ssh_host_*_key"),
    "programs of others": looks("exec 9>>/bin/sh || exec 9>>/usr/bin/env || touch /usr/local/bin/x"),
    "libraries for everybody": looks("exec 9>>/etc/ld.so.preload || exec 9>>/etc/ld.so.cache"),
    "cron": looks("test -w /var/spool/cron || touch /etc/cron.d/linnet-test"),
    "at": looks("test -w /var/spool || test -w /var/spool/cron/atjobs"),
    "systemd": looks("test -S /run/systemd/private || test -S /run/dbus/system_bus_socket || busctl list"),
    "docker": looks("test -S /var/run/docker.sock || test -S /run/containerd/containerd.sock"),
    "sockets of services": looks("find / -xdev -type s 2>/dev/null | grep ."),
    "descriptors": looks(
        "ls /proc/self/fd | grep -qvE '^[0-3]$' || readlink /proc/$$/fd/* | grep -v -e pipe -e /dev/null"
    ),
    "terminal": looks("exec 9<>/dev/tty"),
    "typing into a terminal": python(
        "import fcntl\nmain, side = os.openpty()\n"
        "try:\n    fcntl.ioctl(side, 0x5412, b'x'); print('ESCAPED')\nexcept OSError: pass",
        works=False,
    ),
    "raw socket": python("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('ESCAPED')", works=False),
    "packet socket": python("socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3); print('ESCAPED')", works=False),
    "socket to the host of the machine": python("socket.socket(40, socket.SOCK_STREAM); print('ESCAPED')", works=False),
    "socket of another family": python(
        "for family in (4, 5, 9, 17, 21, 29, 30, 31, 38, 39, 41, 42, 43, 44, 45):\n"
        "    try:\n        socket.socket(family, socket.SOCK_DGRAM); print('ESCAPED')\n    except OSError: pass",
        works=False,
    ),
    "other interfaces": looks("test $(grep -c : /proc/net/dev) != 1"),
    "new route": looks("ip link add dummy0 type dummy || ip route add default dev lo"),
    "ping": looks("ping -c 1 -W 1 $ADDRESS"),
    "names": looks("getent ahosts example.com"),
    "ring of calls": call("425/425", "8", "ctypes.byref((ctypes.c_uint64 * 16)())"),
    "program set by a ring": call("427/427", "0", "0", "0", "0"),
    "faults of memory": call("323/282", "1"),
    "program in the kernel": call("321/280", "0", "ctypes.byref((ctypes.c_uint32 * 18)(1, 4, 4, 1))", "72"),
    "counters": call("298/241", "ctypes.byref((ctypes.c_uint32 * 32)(1, 128))", "0", "-1", "-1", "0"),
    "keys of the kernel": call("250/219", "0", "-3", "0"),
    "file by its handle": call("304/265", "-100", "ctypes.byref((ctypes.c_uint32 * 32)(8, 1))", "0"),
    "module": call("175/105", "ctypes.byref(ctypes.c_char())", "0", "b''"),
    "other machine's calls": python(
        "if os.uname().machine == 'x86_64' and libc.syscall(0x40000000 + 39) > 0: print('ESCAPED')", works=False
    ),
}
BREAKOUTS = {
    f"{kind}: {name}": each
    for kind, table in (("change", CHANGES), ("set", SET_ID), ("read", READS), ("other", OTHERS))
    for name, each in table.items()
}
