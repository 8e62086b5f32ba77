package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// completions are the scripts by shell. They ask waot itself; words that are
// no flags are file names.
var completions = map[string]string{
	"bash": `_waot() {
  local cur="${COMP_WORDS[COMP_CWORD]}" words
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 || "$cur" == -* ]]; then
    words="$("${COMP_WORDS[0]}" "${COMP_WORDS[@]:1:COMP_CWORD-1}" ${cur:+"$cur"} --generate-bash-completion 2>/dev/null)"
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _waot waot
`,
	"zsh": `#compdef waot
_waot() {
  local -a opts
  local cur="${words[CURRENT]}"
  if [[ CURRENT -eq 2 || "$cur" == -* ]]; then
    opts=("${(@f)$(${words[@]:0:$((CURRENT-1))} $cur --generate-bash-completion 2>/dev/null)}")
    _describe 'waot' opts
  else
    _files
  fi
}
compdef _waot waot
`,
}

// completeCommands prints what can be the first word.
func completeCommands(c *cli.Context) {
	printf(c, "%s\n", strings.Join(commandNames(c.App), "\n"))
}

// completeFlags prints the flags of a command.
func completeFlags(c *cli.Context) {
	for _, f := range c.Command.Flags {
		for _, n := range f.Names() {
			if len(n) > 1 {
				n = "-" + n
			}
			printf(c, "-%s\n", n)
		}
	}
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for a shell",
		UsageText: "waot completion bash|zsh|fish",
		Description: `Examples:
  source <(waot completion bash)
  waot completion fish > ~/.config/fish/completions/waot.fish`,
		Action: func(c *cli.Context) error {
			if c.Args().Len() != 1 {
				return usagef("completion: one of bash, zsh and fish expected")
			}
			shell := c.Args().First()
			script, ok := completions[shell]
			if shell == "fish" {
				var err error
				if script, err = c.App.ToFishCompletion(); err != nil {
					return err
				}
			} else if !ok {
				return usagef("completion: no script for %q, only for bash, zsh and fish", shell)
			}
			printf(c, "%s", script)
			return nil
		},
	}
}
