package reports

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Schema is the JSON Schema (draft 2020-12) of report.json. It is made of the
// types that the report is made of, so it can't say otherwise than they do.
func Schema() []byte {
	s := schemaOf(reflect.TypeFor[jsonReport]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "report.json of iopathy"
	s["description"] = "Times are nanoseconds since 1970 (UTC), sizes bytes, shares 0 to 1; null is unknown. schema grows by one when a field changes its meaning or goes."
	s["properties"].(map[string]any)["schema"] = map[string]any{"const": SchemaVersion}
	s["properties"].(map[string]any)["tool"] = map[string]any{"const": "iopathy"}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("reports: " + err.Error()) // maps of strings
	}
	return append(out, '\n')
}

var numberType = reflect.TypeFor[number]()

func schemaOf(t reflect.Type) map[string]any {
	switch {
	case t == numberType:
		return map[string]any{"type": []string{"number", "null"}}
	case t.Kind() == reflect.Pointer:
		s := schemaOf(t.Elem())
		return map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		return objectSchema(t)
	}
	return map[string]any{} // anything
}

func objectSchema(t reflect.Type) map[string]any {
	fields, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case name == "" && f.Anonymous:
			inner := objectSchema(f.Type)
			for k, v := range inner["properties"].(map[string]any) {
				fields[k] = v
			}
			required = append(required, inner["required"].([]string)...)
			continue
		case name == "":
			name = f.Name
		}
		fields[name] = schemaOf(f.Type)
		if !strings.Contains(rest, "omitempty") && !strings.Contains(rest, "omitzero") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": fields, "required": required, "additionalProperties": false}
}
