package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/iopathy/iopathy/ingest/lake"
)

// modelFile is where the lake keeps its model.
const modelFile = "model.json"

func readModels(path string) ([]KindModel, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	var models []KindModel
	if err := json.Unmarshal(data, &models); err != nil {
		return nil, fmt.Errorf("model %s: %w", path, err)
	}
	for i, m := range models {
		if m.Reduce == nil || m.Cluster == nil {
			return nil, fmt.Errorf("model %s: entry %d has no normals or no classes", path, i)
		}
	}
	return models, nil
}

// StoreModel keeps the models, and the registry of their classes, in the lake
// and gives the models' file.
// Models of families that have no windows among these stay.
func (j *Job) StoreModel(d *Diagnosed) (string, error) {
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := d.naming.store(lock); err != nil {
		return "", err
	}
	path := filepath.Join(j.Lake, filepath.FromSlash(lake.ModelPath(modelFile)))
	old, err := readModels(path)
	if err != nil {
		old = nil // one that can't be read is replaced
	}
	data, err := encodeModels(withOthers(d.Models, old))
	if err != nil {
		return "", err
	}
	if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, data) {
		return path, nil
	}
	return path, lake.WriteFileAtomic(path, data)
}

// withOthers are the models, with the old ones of other families behind them.
func withOthers(models, old []KindModel) []KindModel {
	models = slices.Clone(models)
	for _, m := range old {
		if modelOf(models, m.Kind, m.TickNS, m.WindowNS) == nil {
			models = append(models, m)
		}
	}
	return models
}

// encodeModels gives the text of a file of models.
func encodeModels(models []KindModel) ([]byte, error) {
	data, err := json.MarshalIndent(models, "", " ")
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return append(data, '\n'), nil
}

// modelOf finds the model of a family; nil if there is none.
func modelOf(models []KindModel, kind string, tickNS, windowNS int64) *KindModel {
	for i := range models {
		if m := &models[i]; m.Kind == kind && m.TickNS == tickNS && m.WindowNS == windowNS {
			return m
		}
	}
	return nil
}
