// One prompt in pi's protocol, with the standard library alone.
//
//	client PROMPT [flags of linnet --mode rpc]
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Event is the union of the lines we care about; Type says which fields count. Others are ignored.
type Event struct {
	Type     string
	Success  bool
	Error    string
	ToolName string
	Messages []struct{ StopReason, ErrorMessage string }
	Update   struct{ Type, Delta string } `json:"assistantMessageEvent"`
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: client PROMPT [flags of linnet --mode rpc]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(prompt string, flags []string) error {
	program := os.Getenv("LINNET")
	if program == "" {
		program = "linnet"
	}
	agent := exec.Command(program, append([]string{"--mode", "rpc", "--no-session"}, flags...)...)
	agent.Stderr = os.Stderr
	stdin, err := agent.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := agent.StdoutPipe()
	if err != nil {
		return err
	}
	if err := agent.Start(); err != nil {
		return err
	}
	defer agent.Wait()
	defer stdin.Close()
	if err := json.NewEncoder(stdin).Encode(map[string]string{"id": "1", "type": "prompt", "message": prompt}); err != nil {
		return err
	}
	failure := errors.New("the agent ended before it had answered")
	lines := bufio.NewReader(stdout) // A Scanner gives up at 64 KiB; lines of this protocol have no such limit.
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return failure
		}
		var event Event
		if err := json.Unmarshal(line, &event); err != nil {
			return err
		}
		switch {
		case event.Type == "response" && !event.Success:
			return errors.New(event.Error)
		case event.Type == "message_update" && event.Update.Type == "text_delta":
			fmt.Print(event.Update.Delta)
		case event.Type == "tool_execution_start":
			fmt.Fprintf(os.Stderr, "\n[%s]\n", event.ToolName)
		case event.Type == "agent_end":
			fmt.Println()
			failure = nil
			if n := len(event.Messages); n > 0 && event.Messages[n-1].StopReason == "error" {
				failure = errors.New(event.Messages[n-1].ErrorMessage)
			}
			stdin.Close() // What was asked is finished first: a run that failed may be tried again; the last counts.
		}
	}
}
