"""exploration"""
import json, re, os
from collections.abc import Callable
from pathlib import Path
from typing import Any
import pytest
from linnet.testing.agent import Agent
from linnet.testing.replay import *
CAPTURES = Path(os.environ.get("CAPS","/tmp/conv"))
def takes(last, frame):
    kind=frame["type"]
    if last["type"]!=kind: return False
    if kind=="message_update":
        a,b=last["assistantMessageEvent"],frame["assistantMessageEvent"]
        if "delta" in a and (a["type"],a["contentIndex"])==(b["type"],b["contentIndex"]):
            a["delta"]+=b["delta"]; return True
        return False
    if kind=="tool_execution_update" and last["toolCallId"]==frame["toolCallId"]:
        last["partialResult"]=frame["partialResult"]; return True
    return False
FALLS=("response","queue_update")
def joined(frames): return Joined(takes,FALLS,frames)
def settle(frames):
    out=[];held=[]
    for f in frames:
        if f["type"] in FALLS and out and out[-1]["type"] in("message_update","tool_execution_update"):
            held.append(f);continue
        if f["type"] not in("message_update","tool_execution_update"):
            out+=held;held=[]
        out.append(f)
    return out+held
def stable(frames, cwd, url):
    ids={}
    def number(id,what): return ids.setdefault((what,id),f"{what} {sum(k[0]==what for k in ids)+1}")
    def plain(v,key="",parent=None):
        match v:
            case dict() if key in("usage","tokens"): return {k:(plain(x,"usage") if isinstance(x,dict) else "N") for k,x in v.items()}
            case dict() if key=="contextUsage": return "CTX"
            case dict(): return {k:plain(x,k,v) for k,x in v.items() if not (k in("message","partial") and "assistantMessageEvent" in frames and False)}
            case list(): return [plain(x,key,parent) for x in v]
            case int() if key=="timestamp": return "TIME"
            case int()|float() if key in("tokensBefore","cost","delayMs") : return "N"
            case str() if key=="toolCallId" or (key=="id" and parent and parent.get("type")=="toolCall"): return number(v,"call")
            case str() if key=="sessionId": return number(v,"session")
            case str() if key=="firstKeptEntryId": return "ENTRY"
            case str() if key in("errorMessage","finalError"): return v if v in("Request was aborted.","Retry cancelled") else v[:60]
            case str() if key=="fullOutputPath": return "PATH"
            case str(): return v.replace(cwd,"CWD").replace(url,"http://127.0.0.1:PORT")
        return v
    js=settle(joined(frames).frames)
    for f in js:
        if f["type"]=="message_update":
            f.pop("message",None); f["assistantMessageEvent"].pop("partial",None)
    return [plain(f) for f in js]
MODELS=[
 {"id":"scripted","name":"Scripted A","provider":"anthropic","context_window":200000,"max_output":16384,"reasoning":True,"prices":{"input":3,"output":15,"cache_read":0.3,"cache_write":3.75}},
 {"id":"small","name":"Scripted small","provider":"anthropic","context_window":20000,"max_output":4096,"images":False,"prices":{"input":3,"output":15,"cache_read":0.3,"cache_write":3.75}},
 {"id":"scripted","name":"Scripted O","provider":"openai","context_window":200000,"max_output":16384,"prices":{"input":1,"output":2,"cache_read":0.1}},
]
@pytest.mark.parametrize("name", sorted(p.stem for p in CAPTURES.glob("*.jsonl")))
def test_x(name, pi, server, tmp_path):
    cap=load(CAPTURES/f"{name}.jsonl")
    argv=cap[0]["argv"]; argv=[a for a in argv if a not in("--mode","rpc")]
    i=argv.index("--provider"); prov=argv[i+1]; del argv[i:i+2]
    agent=pi(*argv,*os.environ.get("FLAGS","").split(),provider=prov,extra_models=MODELS, env={"OPENAI_API_KEY":"y"} if name.startswith(("models","conc")) else {})
    import linnet.testing.replay as r; r.PATIENCE=3.0
    err=None
    try: replay(agent,cap,lambda f:f,joined)
    except TimeoutError as e: err=e
    ours=stable(agent.seen,str(tmp_path/"work"),server.url); theirs=stable(printed(cap),"CWD","http://127.0.0.1:PORT")
    Path(f"/tmp/diff/{name}.ours").write_text("".join(json.dumps(x,sort_keys=True,ensure_ascii=False)+"\n" for x in ours))
    Path(f"/tmp/diff/{name}.theirs").write_text("".join(json.dumps(x,sort_keys=True,ensure_ascii=False)+"\n" for x in theirs))
    assert err is None, str(err)[:100]
    assert ours==theirs
