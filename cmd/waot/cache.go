package main

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/cache"
	"github.com/waot-project/waot/internal/quote"
)

func cacheCommand() *cli.Command {
	return &cli.Command{
		Name:      "cache",
		Usage:     "list or remove the compiled modules that run has kept",
		UsageText: "waot cache ls|clear [OPTIONS]",
		Description: `run keeps what it compiles, and maps it the next time: for the same module, options,
version of waot and level of processor. The folder must belong to you, and nobody else
may be able to write to it, or it is not used. What was used longest ago is removed
when the folder gets too large.

Examples:
  waot cache ls
  waot cache clear
  waot run app.wasm --cache=off`,
		Flags:  append(cacheFlags(), jsonFlag()),
		Action: cacheAction,
	}
}

func cacheAction(c *cli.Context) error {
	what := c.Args().First()
	if c.Args().Len() != 1 || what != "ls" && what != "clear" {
		return usagef("cache: one of ls and clear expected (see waot cache --help)")
	}
	kept, _, err := openCache(c, cache.Find)
	if err != nil {
		return err
	}
	if kept == nil {
		return errors.New("there is no cache: it is off")
	}
	if what == "clear" {
		return clearCache(c, kept)
	}
	infos, err := kept.List()
	if err != nil {
		return err
	}
	if c.Bool("json") {
		writeJSON(c.App.Writer, struct {
			Dir      string       `json:"dir"`
			MaxBytes int64        `json:"max_bytes"`
			Entries  []cache.Info `json:"entries"`
		}{kept.Dir(), kept.MaxBytes(), append([]cache.Info{}, infos...)})
		return nil
	}
	total := int64(0)
	for i := range infos {
		e := &infos[i]
		total += e.Bytes
		printf(c, "%s  %s  %12d bytes  %s\n", e.Key[:16], e.Used.Format(time.DateTime), e.Bytes, quote.Name(e.Name))
	}
	printf(c, "%s: %d entries, %d bytes of at most %d\n", quote.Name(kept.Dir()), len(infos), total, kept.MaxBytes())
	return nil
}

func clearCache(c *cli.Context, kept *cache.Cache) error {
	n, size, err := kept.Clear()
	if err != nil {
		return err
	}
	if c.Bool("json") {
		writeJSON(c.App.Writer, struct {
			Dir     string `json:"dir"`
			Removed int    `json:"removed"`
			Bytes   int64  `json:"bytes"`
		}{kept.Dir(), n, size})
		return nil
	}
	printf(c, "%s: %d entries removed, %d bytes\n", quote.Name(kept.Dir()), n, size)
	return nil
}
