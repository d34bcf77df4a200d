// Drive linnet from Go: send one prompt, stream the answer. Nothing but the standard library.
//
//	client [--image FILE] PROMPT [-- flags of linnet rpc]
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"mime"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
)

// Command is what we send. Fields that a command does not have stay out of it.
type Command struct {
	ID      string  `json:"id"`
	Type    string  `json:"type"`
	Token   string  `json:"token,omitempty"`
	Message string  `json:"message,omitempty"`
	Images  []Image `json:"images,omitempty"`
}

type Image struct {
	MimeType string `json:"mime_type"`
	Data     []byte `json:"data"` // encoding/json writes bytes as base64
}

// Frame is the union of the frames we care about; Type says which fields count. Others are ignored, and so they should
// be: the protocol only grows.
type Frame struct {
	Type       string
	Command    string
	Success    bool
	Error      string
	Message    string
	Delta      string
	Name       string
	Args       json.RawMessage
	Text       string
	IsError    bool `json:"is_error"`
	Content    []Block
	Stop       string
	Cumulative *Usage
}

type Block struct{ Type, Text string }

type Usage struct {
	Input, Output int
	CostUSD       float64 `json:"cost_usd"`
	CostKnown     *bool   `json:"cost_known"` // False where a price is not known; else absent.
}

var stopped = map[string]string{
	"aborted": "the turn was aborted",
	"length":  "the answer was cut at the model's output limit",
}

// Agent is a running `linnet rpc`.
type Agent struct {
	process *exec.Cmd
	stdin   io.WriteCloser
	frames  *bufio.Reader
}

func start(name string, flags []string) (*Agent, error) {
	process := exec.Command(name, append([]string{"rpc"}, flags...)...)
	process.Stderr = os.Stderr // Inherited: a pipe that nobody drains would block the agent.
	// A session of its own keeps the terminal's Ctrl-C from the agent. We ask it to abort instead.
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Agent{process, stdin, bufio.NewReader(stdout)}, process.Start()
}

func (a *Agent) send(command Command) {
	line, _ := json.Marshal(command)
	_, _ = a.stdin.Write(append(line, '\n')) // If it has died or was finished, whoever reads its frames will know.
}

// next returns io.EOF after the last frame. A bufio.Scanner would give up on lines above 64 KiB.
func (a *Agent) next() (frame Frame, err error) {
	line, err := a.frames.ReadBytes('\n')
	if err != nil {
		return frame, err // With half a line, if the agent died in mid-sentence: of no use.
	}
	return frame, json.Unmarshal(line, &frame)
}

// Screen: the answer goes to stdout as it comes, everything else to stderr, and never both on one line.
type Screen struct {
	unfinished *os.File // Where the line that was begun last has not ended yet.
}

func (s *Screen) say(text string) { s.write(os.Stdout, text, "", "") }

func (s *Screen) progress(text string) {
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		s.write(os.Stderr, text, "\x1b[2m", "\x1b[0m")
	} else {
		s.write(os.Stderr, text, "", "")
	}
}

func (s *Screen) note(text string) {
	s.endLine()
	s.write(os.Stderr, text+"\n", "", "")
}

func (s *Screen) write(to *os.File, text, before, after string) {
	if text == "" {
		return
	}
	if s.unfinished != to {
		s.endLine()
	}
	fmt.Fprint(to, before, text, after)
	s.unfinished = to
	if strings.HasSuffix(text, "\n") {
		s.unfinished = nil
	}
}

func (s *Screen) endLine() {
	if s.unfinished != nil {
		fmt.Fprintln(s.unfinished)
	}
	s.unfinished = nil
}

func firstLine(content []Block) string {
	for _, block := range content {
		if block.Type == "text" {
			line, _, _ := strings.Cut(block.Text, "\n")
			return line
		}
	}
	return "[image]"
}

func run(agent *Agent, message string, images []Image) int {
	// No need to wait for an answer in between: commands are taken in order, and a refusal shows up below.
	if token := os.Getenv("ZOTCORE_RPC_TOKEN"); token != "" {
		agent.send(Command{ID: "1", Type: "hello", Token: token})
	}
	agent.send(Command{ID: "2", Type: "prompt", Message: message, Images: images})

	var interrupted atomic.Bool
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go func() {
		<-signals
		interrupted.Store(true)
		signal.Reset(os.Interrupt) // A second Ctrl-C ends us, which closes the agent's pipes.
		agent.send(Command{ID: "3", Type: "abort"})
	}()

	var (
		screen  Screen
		done    bool
		problem string
		usage   *Usage
	)
	for {
		frame, err := agent.next()
		if err != nil {
			if err != io.EOF {
				problem = err.Error()
			}
			break
		}
		switch frame.Type {
		case "text_delta":
			screen.say(frame.Delta)
		case "tool_call":
			screen.note(fmt.Sprintf("→ %s %.100s", frame.Name, frame.Args))
		case "tool_progress":
			screen.progress(frame.Text)
		case "tool_result":
			mark := "✓ "
			if frame.IsError {
				mark = "✗ "
			}
			screen.note(mark + firstLine(frame.Content))
		case "usage":
			usage = frame.Cumulative
		case "turn_end": // One model call. What counts is how the last one went.
			problem = cmp.Or(frame.Error, stopped[frame.Stop])
		case "error":
			problem = frame.Message
		case "response":
			if !frame.Success {
				problem = frame.Command + ": " + frame.Error
				agent.stdin.Close()
			}
		case "done":
			done = true
			agent.stdin.Close() // Without more input the agent exits, its output ends, and so does this loop.
		}
	}
	_ = agent.process.Wait()

	screen.endLine()
	if !done {
		problem = cmp.Or(problem, "the agent ended before it was done")
	}
	if problem != "" {
		screen.note("client: " + problem)
	}
	if usage != nil {
		more := ""
		if usage.CostKnown != nil && !*usage.CostKnown {
			more = " + ?"
		}
		screen.note(fmt.Sprintf("%d tokens in, %d out, $%.4f%s", usage.Input, usage.Output, usage.CostUSD, more))
	}
	switch {
	case done && interrupted.Load():
		return 130
	case problem != "":
		return 1
	}
	return 0
}

func main() {
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "usage: client [--image FILE] PROMPT [-- flags of linnet rpc]") }
	imagePath := flag.String("image", "", "")
	flag.Parse()
	words := flag.Args()
	if len(words) == 0 || len(words) > 1 && words[1] != "--" {
		flag.Usage()
		os.Exit(2)
	}
	var images []Image
	if *imagePath != "" {
		data, err := os.ReadFile(*imagePath)
		if err != nil {
			fail(err)
		}
		images = []Image{{mime.TypeByExtension(filepath.Ext(*imagePath)), data}}
	}
	agent, err := start(cmp.Or(os.Getenv("LINNET"), "linnet"), words[min(2, len(words)):])
	if err != nil {
		fail(err)
	}
	os.Exit(run(agent, words[0], images))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "client:", err)
	os.Exit(1)
}
