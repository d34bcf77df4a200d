// Drive linnet from Go: send one prompt, stream the answer. Nothing but the standard library.
//
//	client [--image FILE] [--ask] PROMPT [-- flags of linnet rpc]
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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Command is what we send. Fields that a command does not have stay out of it.
type Command struct {
	ID        string  `json:"id,omitempty"`
	Type      string  `json:"type"`
	Token     string  `json:"token,omitempty"`
	Message   string  `json:"message,omitempty"`
	Images    []Image `json:"images,omitempty"`
	Tools     []Tool  `json:"tools,omitempty"`
	RequestID string  `json:"request_id,omitempty"`
	Value     *string `json:"value,omitempty"`
	Confirmed *bool   `json:"confirmed,omitempty"`
	Cancelled bool    `json:"cancelled,omitempty"`
	Content   *string `json:"content,omitempty"`
	IsError   bool    `json:"is_error,omitempty"`
}

// Tool is one that is run here, and not by the agent.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// With --ask, the model is offered this one.
var askUser = Tool{"ask_user", "Ask the person who is at the keyboard.", json.RawMessage(
	`{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}`)}

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
	RequestID  string `json:"request_id"`
	Method     string
	Title      string
	Options    []string
	Permission *struct{ Preview string }
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
	lock       sync.Mutex // A question is shown by whoever waits for its answer.
	unfinished *os.File   // Where the line that was begun last has not ended yet.
}

func (s *Screen) say(text string) { s.locked(func() { s.write(os.Stdout, text, "", "") }) }

func (s *Screen) progress(text string) {
	before, after := "", ""
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		before, after = "\x1b[2m", "\x1b[0m"
	}
	s.locked(func() { s.write(os.Stderr, text, before, after) })
}

func (s *Screen) note(text string) {
	s.locked(func() {
		s.breakLine()
		s.write(os.Stderr, text+"\n", "", "")
	})
}

func (s *Screen) endLine() { s.locked(s.breakLine) }

func (s *Screen) locked(show func()) {
	s.lock.Lock()
	defer s.lock.Unlock()
	show()
}

func (s *Screen) write(to *os.File, text, before, after string) {
	if text == "" {
		return
	}
	if s.unfinished != to {
		s.breakLine()
	}
	fmt.Fprint(to, before, text, after)
	s.unfinished = to
	if strings.HasSuffix(text, "\n") {
		s.unfinished = nil
	}
}

func (s *Screen) breakLine() {
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

// typed asks the person at the keyboard; false if nobody is there.
func typed(screen *Screen, keyboard *bufio.Reader, text string) (string, bool) {
	screen.note(text)
	line, err := keyboard.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err == nil
}

// answer is what to send for a question, or for a call of our own tool. No answer is a no.
func answer(frame Frame, screen *Screen, keyboard *bufio.Reader) Command {
	if frame.Type == "tool_request" {
		var args struct{ Question string }
		_ = json.Unmarshal(frame.Args, &args)
		reply, there := typed(screen, keyboard, "? "+args.Question)
		if !there {
			reply = "Nobody is here to answer."
		}
		return Command{Type: "tool_response", RequestID: frame.RequestID, Content: &reply, IsError: !there}
	}
	text, shown := "? "+frame.Title, frame.Message
	if frame.Permission != nil {
		shown = frame.Permission.Preview
	}
	if shown != "" {
		text += "\n" + shown
	}
	for index, option := range frame.Options {
		text += fmt.Sprintf("\n  %d %s", index+1, option)
	}
	reply, there := typed(screen, keyboard, text)
	command := Command{Type: "answer", RequestID: frame.RequestID, Cancelled: !there}
	switch {
	case !there:
	case frame.Method == "confirm":
		yes := reply == "y" || reply == "yes"
		command.Confirmed = &yes
	case frame.Method == "select":
		number, _ := strconv.Atoi(reply)
		if command.Cancelled = number < 1 || number > len(frame.Options); !command.Cancelled {
			command.Value = &frame.Options[number-1]
		}
	default:
		command.Value = &reply
	}
	return command
}

func run(agent *Agent, message string, images []Image, asks bool) int {
	// No need to wait for an answer in between: commands are taken in order, and a refusal shows up below.
	if token := os.Getenv("ZOTCORE_RPC_TOKEN"); token != "" {
		agent.send(Command{ID: "1", Type: "hello", Token: token})
	}
	if asks {
		agent.send(Command{ID: "4", Type: "set_tools", Tools: []Tool{askUser}})
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
		screen   Screen
		done     bool
		problem  string
		usage    *Usage
		keyboard = bufio.NewReader(os.Stdin)
		asking   sync.Mutex
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
		case "question", "tool_request":
			go func() { // The agent waits for it. We do not: an abort must be heard meanwhile.
				asking.Lock()
				defer asking.Unlock()
				agent.send(answer(frame, &screen, keyboard))
			}()
		case "usage":
			usage = frame.Cumulative
		case "turn_end": // One model call. What counts is how the last one went.
			problem = cmp.Or(frame.Error, stopped[frame.Stop])
		case "error":
			problem = frame.Message
		case "response":
			switch {
			case frame.Success:
			case frame.Command == "answer" || frame.Command == "tool_response":
				screen.note("client: " + frame.Command + ": " + frame.Error) // Too late: nobody waits for it any more.
			default:
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
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: client [--image FILE] [--ask] PROMPT [-- flags of linnet rpc]")
	}
	imagePath := flag.String("image", "", "")
	asks := flag.Bool("ask", false, "")
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
	os.Exit(run(agent, words[0], images, *asks))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "client:", err)
	os.Exit(1)
}
