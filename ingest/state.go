package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"time"
	"unsafe"
)

// StateChecker is a part of a decoder's state that has a sense beyond its
// types: numbers that are indices, lists that must end. CheckState looks at
// it when it was loaded; its error leaves the checkpoint unused.
type StateChecker interface{ CheckState() error }

// A decoder's state is saved and loaded by walking its fields, so that no
// format can forget one: what a decoder keeps from line to line is plain data.
//
//	bool                 1 byte
//	integer              varint, zigzag if signed
//	float                uvarint of its bits in reverse byte order
//	string, []byte       uvarint length (a slice's plus 1; 0: nil), the bytes
//	slice, map           uvarint length plus 1 (0: nil), the elements; a map's by their keys' bytes
//	array, struct        the elements, the fields
//	pointer              uvarint: 0 nil; n the n-th object; the next new n is followed by what it points to
//	time.Time            seconds, nanoseconds, name and offset of the zone
//	*time.Location       its name: it must be one of the decoder that loads
//	function             nothing: the decoder that loads has its own
//
// Channels, interfaces and Names (which mean something in one chunk only) are
// no state. A field with the tag `state:"-"` is memory for one call, and left out.

// stateDepth bounds how deep loaded values nest.
const stateDepth = 64

var (
	timeType     = reflect.TypeFor[time.Time]()
	locationType = reflect.TypeFor[*time.Location]()
	nameType     = reflect.TypeFor[Name]()
	checkerType  = reflect.TypeFor[StateChecker]()
)

// fieldOf gives a field that can be read and set, exported or not.
func fieldOf(v reflect.Value, i int) reflect.Value {
	f := v.Field(i)
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}

// raw says that elements of a type are written as they stand.
func raw(t reflect.Type) bool {
	return t.Kind() == reflect.Uint8 && !reflect.PointerTo(t).Implements(checkerType)
}

// stateless says that a field is memory for one call.
func stateless(f reflect.StructField) bool { return f.Tag.Get("state") == "-" }

// saveState gives the state of a decoder, what dec points to.
func saveState(dec any) ([]byte, error) {
	w := stateWriter{objects: make(map[unsafe.Pointer]uint64)}
	w.value(addressable(dec))
	return w.b, w.err
}

// addressable gives the value that v is, or points to, in memory of its own.
func addressable(v any) reflect.Value {
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.Pointer {
		return r.Elem()
	}
	c := reflect.New(r.Type()).Elem()
	c.Set(r)
	return c
}

type stateWriter struct {
	b       []byte
	objects map[unsafe.Pointer]uint64
	err     error
}

func (w *stateWriter) value(v reflect.Value) {
	switch t := v.Type(); {
	case t == timeType:
		at := *(*time.Time)(v.Addr().UnsafePointer())
		name, offset := at.Zone()
		if loc := at.Location().String(); loc != "" {
			name = loc
		}
		w.b = binary.AppendVarint(w.b, at.Unix())
		w.b = binary.AppendVarint(w.b, int64(at.Nanosecond()))
		w.text(name)
		w.b = binary.AppendVarint(w.b, int64(offset))
		return
	case t == locationType:
		if v.IsNil() {
			w.text("")
		} else {
			w.text((*time.Location)(v.UnsafePointer()).String())
		}
		return
	case t == nameType:
		w.err = errors.New("a Name is no state")
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		w.b = append(w.b, 0)
		if v.Bool() {
			w.b[len(w.b)-1] = 1
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.b = binary.AppendVarint(w.b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.b = binary.AppendUvarint(w.b, v.Uint())
	case reflect.Float32, reflect.Float64:
		w.b = binary.AppendUvarint(w.b, bits.ReverseBytes64(math.Float64bits(v.Float())))
	case reflect.String:
		w.text(v.String())
	case reflect.Slice:
		if v.IsNil() {
			w.b = append(w.b, 0)
			return
		}
		w.b = binary.AppendUvarint(w.b, uint64(v.Len())+1)
		if raw(v.Type().Elem()) {
			w.b = append(w.b, v.Bytes()...)
			return
		}
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Array:
		if raw(v.Type().Elem()) {
			w.b = append(w.b, v.Bytes()...)
			return
		}
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !stateless(v.Type().Field(i)) {
				w.value(fieldOf(v, i))
			}
		}
	case reflect.Map:
		w.entries(v)
	case reflect.Pointer:
		if v.IsNil() {
			w.b = append(w.b, 0)
			return
		}
		n, seen := w.objects[v.UnsafePointer()]
		if !seen {
			n = uint64(len(w.objects)) + 1
			w.objects[v.UnsafePointer()] = n
		}
		w.b = binary.AppendUvarint(w.b, n)
		if !seen {
			w.value(v.Elem())
		}
	case reflect.Func:
	default:
		w.err = fmt.Errorf("a %s is no state", v.Type())
	}
}

func (w *stateWriter) text(s string) {
	w.b = append(binary.AppendUvarint(w.b, uint64(len(s))), s...)
}

// entries writes a map in the order of its keys' bytes.
func (w *stateWriter) entries(v reflect.Value) {
	if v.IsNil() {
		w.b = append(w.b, 0)
		return
	}
	w.b = binary.AppendUvarint(w.b, uint64(v.Len())+1)
	type entry struct {
		key   []byte
		value reflect.Value
	}
	all := make([]entry, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		k := stateWriter{objects: w.objects}
		k.value(owned(it.Key()))
		w.err = errors.Join(w.err, k.err)
		all = append(all, entry{k.b, it.Value()})
	}
	slices.SortFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	for _, e := range all {
		w.b = append(w.b, e.key...)
		w.value(owned(e.value))
	}
}

// owned copies a value of a map, which has no address.
func owned(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}
