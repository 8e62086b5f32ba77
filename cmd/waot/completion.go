package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/compile"
)

// completeCommand is the command by which scripts ask for what can be the last of the words behind it. They complete names of files where it
// says nothing.
const completeCommand = "__complete"

// completions are the scripts by shell. They ask waot itself.
var completions = map[string]string{
	"bash": `_waot() {
  local cur="${COMP_WORDS[COMP_CWORD]}" words
  [[ "$cur" == "=" ]] && cur=""
  COMPREPLY=()
  words="$("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)"
  if [[ -n "$words" ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _waot waot
`,
	"zsh": `#compdef waot
_waot() {
  local -a opts
  opts=("${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${opts[*]}" ]]; then
    compadd -- $opts
  else
    [[ "$PREFIX" == -*=* ]] && compset -P '*='
    _files
  fi
}
compdef _waot waot
`,
	"fish": `function __waot_complete
  set -l words (commandline -opc)
  set -l last (commandline -ct)
  set -l found ($words[1] __complete $words[2..] "$last" 2>/dev/null)
  if set -q found[1]
    printf '%s\n' $found
  else
    set -l flag (string match -r -- '^-[^=]*=' "$last")
    printf "$flag%s\n" (__fish_complete_path (string replace -r -- '^-[^=]*=' '' "$last"))
  end
end
complete -c waot -f -a '(__waot_complete)'
`,
}

// flagValues are what flags can be, by name.
var flagValues = map[string]func() []string{
	"target": compile.Targets,
	"cpu": func() []string {
		values := []string{"native"}
		for _, target := range compile.Targets() {
			values = append(values, cpuNames[target]...)
		}
		return values
	},
	"opt":            func() []string { return []string{"0", "1"} },
	"spectre":        func() []string { return []string{"on", "off"} },
	"bounds":         func() []string { return []string{"guard", "explicit"} },
	"fuel":           func() []string { return []string{fuelExact, fuelSlack} },
	"regalloc":       compile.Allocators,
	"regalloc-check": func() []string { return []string{"on", "off"} },
	"emit":           func() []string { return stages },
	"engine":         func() []string { return []string{"native", "interp"} },
	"cache":          func() []string { return []string{cacheOff} },
	"rules-off": func() (names []string) {
		for _, target := range compile.Targets() {
			for _, r := range compile.Rules(target) {
				if !slices.Contains(names, r.String()) {
					names = append(names, r.String())
				}
			}
		}
		return names
	},
}

// positionals are what other words of commands than flags can be; others are files.
var positionals = map[string][]string{"cache": {"ls", "clear"}, "completion": {"bash", "zsh", "fish"}}

// completeWords prints what the last of the words can be, one a line.
func completeWords(app *cli.App, words []string, out io.Writer) {
	for _, w := range candidates(app, words) {
		fmt.Fprintln(out, w)
	}
}

func candidates(app *cli.App, words []string) []string {
	if len(words) == 0 {
		return nil
	}
	last := words[len(words)-1]
	if len(words) == 1 {
		if strings.HasPrefix(last, "-") {
			return dashed(app.Flags)
		}
		return commandNames(app)
	}
	cmd := app.Command(words[0])
	if cmd == nil || slices.Contains(words[:len(words)-1], "--") {
		return nil
	}
	// bash makes a word of each equals sign.
	before := words[len(words)-2]
	if last == "=" {
		last = ""
	} else if before == "=" && len(words) > 2 {
		before = words[len(words)-3]
	}
	if name, value, ok := strings.Cut(last, "="); ok && strings.HasPrefix(name, "-") {
		var list []string
		for _, v := range valuesOf(cmd, name, words) {
			if strings.HasPrefix(v, value) {
				list = append(list, name+"="+v)
			}
		}
		return list
	}
	if strings.HasPrefix(before, "-") && valuedFlags(cmd)[strings.TrimLeft(before, "-")] {
		return valuesOf(cmd, before, words)
	}
	if strings.HasPrefix(last, "-") {
		return dashed(cmd.Flags)
	}
	return positionals[cmd.Name]
}

// valuesOf returns the values of a flag of a command beside the words, nil if they are not known.
func valuesOf(cmd *cli.Command, flag string, words []string) []string {
	name := strings.TrimLeft(flag, "-")
	for _, f := range cmd.Flags {
		names := f.Names()
		if !slices.Contains(names, name) {
			continue
		}
		if target := targetOf(words); names[0] == "cpu" && cpuNames[target] != nil {
			return cpuNames[target]
		}
		if flagValues[names[0]] != nil {
			return flagValues[names[0]]()
		}
	}
	return nil
}

// targetOf returns the value of --target in the words, if it is there; bash makes a word of an equals sign.
func targetOf(words []string) string {
	for k, w := range words {
		switch rest := words[k+1:]; {
		case strings.HasPrefix(w, "--target="):
			return strings.TrimPrefix(w, "--target=")
		case w == "--target" && len(rest) > 1 && rest[0] == "=":
			return rest[1]
		case w == "--target" && len(rest) > 0:
			return rest[0]
		}
	}
	return ""
}

// dashed returns the names of flags as they are written.
func dashed(flags []cli.Flag) []string {
	names := flagNames(flags)
	for i, n := range names {
		if len(n) > 1 {
			n = "-" + n
		}
		names[i] = "-" + n
	}
	return names
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for a shell",
		UsageText: "waot completion bash|zsh|fish",
		Description: `Completes commands, flags and their values, such as targets and processors.

Examples:
  source <(waot completion bash)
  waot completion fish > ~/.config/fish/completions/waot.fish`,
		Action: func(c *cli.Context) error {
			if c.Args().Len() != 1 {
				return usagef("completion: one of bash, zsh and fish expected")
			}
			shell := c.Args().First()
			script, ok := completions[shell]
			if !ok {
				return usagef("completion: no script for %q, only for bash, zsh and fish", shell)
			}
			printf(c, "%s", script)
			return nil
		},
	}
}
