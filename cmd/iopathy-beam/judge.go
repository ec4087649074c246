package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/reduce"
)

// sampleFn leaves what the fit may take of the windows of a share.
type sampleFn struct{ Spec string }

func (f *sampleFn) ProcessElement(ctx context.Context, text string, emit func(string)) error {
	spec, share, err := shareOf(f.Spec, text)
	if err != nil {
		return err
	}
	_, rules, err := spec.rules()
	if err != nil {
		return err
	}
	if share.Dir, err = spec.scratch("sample"); err != nil {
		return err
	}
	if err := spec.job().SampleHosts(share.HostShare, rules, share.Dir); err != nil {
		return err
	}
	return emitJSON(ctx, emit, share)
}

func shareOf(specText, text string) (Spec, hostShare, error) {
	var share hostShare
	spec, err := decodeSpec(specText)
	if err != nil {
		return spec, share, err
	}
	if err := json.Unmarshal([]byte(text), &share); err != nil {
		return spec, share, fmt.Errorf("share of the hosts: %w", err)
	}
	return spec, share, nil
}

// allShares gives all shares, in the order of their hosts, and where the last step has
// left what it made of them.
func allShares(next func(*string) bool) (shares []hostShare, dirs []string, err error) {
	for text := ""; next(&text); {
		var share hostShare
		if err := json.Unmarshal([]byte(text), &share); err != nil {
			return nil, nil, fmt.Errorf("share of the hosts: %w", err)
		}
		shares = append(shares, share)
	}
	slices.SortFunc(shares, func(a, b hostShare) int { return cmp.Compare(a.Number, b.Number) })
	for i := range shares {
		dirs = append(dirs, shares[i].Dir)
	}
	return shares, dirs, nil
}

// fitFn fits the model. It gives the shares to be labelled, and the model.
type fitFn struct{ Spec string }

func (f *fitFn) ProcessElement(ctx context.Context, _ int, next func(*string) bool, emit, model func(string)) error {
	spec, err := decodeSpec(f.Spec)
	if err != nil {
		return err
	}
	shares, dirs, err := allShares(next)
	if err != nil {
		return err
	}
	inv, _, rules, err := spec.given()
	if err != nil {
		return err
	}
	fit, err := spec.job().FitSamples(dirs, inv, rules, spec.Refit)
	if err != nil {
		return err
	}
	text, err := fit.Encode()
	if err != nil {
		return err
	}
	countPassed.Inc(ctx, int64(len(text)))
	model(text)
	for i := range shares {
		if err := emitJSON(ctx, emit, shares[i]); err != nil {
			return err
		}
	}
	return nil
}

// labelFn labels a share by the model.
type labelFn struct{ Spec string }

func (f *labelFn) ProcessElement(ctx context.Context, text, model string, emit func(string)) error {
	spec, share, err := shareOf(f.Spec, text)
	if err != nil {
		return err
	}
	inv, _, rules, err := spec.given()
	if err != nil {
		return err
	}
	fit, err := local.DecodeFit(model)
	if err != nil {
		return err
	}
	if share.Dir, err = spec.scratch("label"); err != nil {
		return err
	}
	labels, err := spec.job().LabelHosts(share.HostShare, fit, inv, rules, share.Dir)
	if err != nil {
		return err
	}
	countLabels.Inc(ctx, labels)
	return emitJSON(ctx, emit, share)
}

// reportFn takes the labels of all shares into the lake and writes the report. It gives
// its files.
type reportFn struct{ Spec string }

func (f *reportFn) ProcessElement(ctx context.Context, _ int, next func(*string) bool, model string, emit func(string)) error {
	spec, err := decodeSpec(f.Spec)
	if err != nil {
		return err
	}
	shares, dirs, err := allShares(next)
	if err != nil {
		return err
	}
	fit, err := local.DecodeFit(model)
	if err != nil {
		return err
	}
	in := new(local.Ingested)
	if err := spec.kept(shares[0].In, in); err != nil {
		return err
	}
	in.Ticks = shares[0].Ticks
	job := spec.job()
	if err := job.TakeBackLabels(); err != nil {
		return err
	}
	windows, err := job.Windows()
	if err != nil {
		return err
	}
	files, err := report(ctx, spec, job, in, func(inv reduce.Inventory, rules *cluster.Rules) (*local.Diagnosed, error) {
		return job.DiagnoseHosts(windows, dirs, fit, inv, rules)
	})
	if err != nil {
		return err
	}
	emit(strings.Join(files, "\n"))
	return nil
}

// report stores what is said of windows, and writes the report.
func report(ctx context.Context, spec Spec, job *local.Job, in *local.Ingested, diagnose func(reduce.Inventory, *cluster.Rules) (*local.Diagnosed, error)) ([]string, error) {
	inv, catalogue, rules, err := spec.given()
	if err != nil {
		return nil, err
	}
	d, err := diagnose(inv, rules)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if err := job.StoreDiagnosis(d); err != nil {
		return nil, err
	}
	return job.Write(ctx, spec.Config.Out, d, catalogue, in)
}
