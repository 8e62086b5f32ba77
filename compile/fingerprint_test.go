package compile

import (
	"reflect"
	"testing"
)

// TestFingerprint changes each option: the fingerprint changes, unless the option is one of those that code does not
// depend on. A new option must be one of either kind.
func TestFingerprint(t *testing.T) {
	plain := Options{}.Fingerprint()
	if plain == "" {
		t.Fatal("no fingerprint")
	}
	free := map[string]bool{"Context": true, "Jobs": true, "Progress": true, "Crash": true, "Costs": true, "Collect": true, "stop": true}
	seen := map[string]string{plain: "nothing"}
	change := func(name string, o *Options) {
		got := o.Fingerprint()
		if free[name] {
			if got != plain {
				t.Errorf("%s: %q", name, got)
			}
			return
		}
		if got == "" {
			return // no fingerprint, no entry
		}
		if other := seen[got]; other != "" {
			t.Errorf("%s makes no other difference than %s", name, other)
		}
		seen[got] = name
	}
	typ := reflect.TypeFor[Options]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		o := &Options{}
		v := reflect.NewAt(f.Type, reflect.ValueOf(o).Elem().Field(i).Addr().UnsafePointer()).Elem()
		if f.Type.Kind() != reflect.Struct {
			set(t, f.Name, v)
			change(f.Name, o)
			continue
		}
		for n := range f.Type.NumField() {
			o := &Options{}
			field := reflect.NewAt(f.Type, reflect.ValueOf(o).Elem().Field(i).Addr().UnsafePointer()).Elem().Field(n)
			set(t, f.Name, field)
			change(f.Name+"."+f.Type.Field(n).Name, o)
		}
	}
	if a, b := (Options{Target: HostTarget()}).Fingerprint(), (Options{Name: "module"}).Fingerprint(); a != plain || b != plain {
		t.Errorf("a default that is named is another: %q, %q", a, b)
	}
}

// set gives an option another value than zero.
func set(t *testing.T, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("other")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { panic("not called") }))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Interface:
		v.Set(reflect.ValueOf(t.Context()))
	default:
		t.Fatalf("%s: what is another value of type %v?", name, v.Type())
	}
}
