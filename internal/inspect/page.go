package inspect

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"github.com/waot-project/waot/internal/quote"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// MaxBytes is how much the data of a page may have. A browser still shows such a page without delay: it makes elements only of the rows that
// are near to be seen.
const MaxBytes = 64 << 20

// Page is what a page shows.
type Page struct {
	Module string // name of the file
	// About says how the module was compiled.
	About     string
	Functions []*Function
	// LeftOut are functions that the page names only.
	LeftOut []string
}

// TooLarge is the error about a page with more than MaxBytes of data.
type TooLarge struct{ Bytes int }

func (e *TooLarge) Error() string {
	return fmt.Sprintf("the page would have %d MB of data, more than %d: choose fewer functions", e.Bytes>>20, MaxBytes>>20)
}

// entry is a function in the page's template.
type entry struct {
	ID, Name string
	Data     template.JS
}

// Write writes the page, or a *TooLarge.
func (p *Page) Write(w io.Writer) error {
	t := template.Must(template.New("page").Parse(pageHTML))
	var entries []entry
	size := 0
	for _, f := range p.Functions {
		data, err := json.Marshal(f) // <, > and & are escaped in strings
		if err != nil {
			return err
		}
		if size += len(data); size > MaxBytes {
			return &TooLarge{size}
		}
		entries = append(entries, entry{fmt.Sprintf("f%d", f.Index), f.Title(), template.JS(quote.JSON(data))})
	}
	return t.Execute(w, map[string]any{
		"Module": quote.Name(p.Module), "About": p.About, "Functions": entries, "LeftOut": p.LeftOut,
		"CSS": template.CSS(pageCSS), "JS": template.JS(pageJS),
	})
}

// Title is what the function is called in lists.
func (f *Function) Title() string {
	s := fmt.Sprint(f.Index)
	if f.Name != "" {
		s += " " + quote.Name(f.Name)
	}
	return fmt.Sprintf("%s (%d bytes)", s, f.Bytes)
}
