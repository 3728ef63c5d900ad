package faults_test

import (
	"reflect"
	"testing"

	"redlockproxy/proxy/faults"
)

func TestPlanIsItsSeedsAlone(t *testing.T) {
	for seed := range uint64(20) {
		a, b := faults.NewPlan(seed, faults.Lost), faults.NewPlan(seed, faults.Lost)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d: %v and %v", seed, a, b)
		}
	}
}

func TestPlansHaveEveryFaultAndLoseMemoryOnlyWhereTheyMay(t *testing.T) {
	losses := map[faults.Kind]bool{faults.Wipe: true, faults.Tear: true, faults.Flush: true, faults.Forward: true}
	seen := map[faults.Kind]int{}
	for seed := range uint64(200) {
		for _, memory := range []faults.Memory{faults.Kept, faults.Lost} {
			forgot := map[int]bool{}
			for _, f := range faults.NewPlan(seed, memory).Faults {
				seen[f.Kind]++
				if f.End < f.Begin {
					t.Errorf("seed %d: %v ends before it begins", seed, f)
				}
				if losses[f.Kind] || f.Kind == faults.Rate && f.Amount > 1.01 {
					forgot[f.Backend] = true
				}
			}
			if len(forgot) == faults.Backends || memory == faults.Kept && len(forgot) > 0 {
				t.Errorf("seed %d, %v: %d backends lose memory", seed, memory, len(forgot))
			}
		}
	}
	for _, kind := range faults.Kinds() {
		if seen[kind] == 0 {
			t.Errorf("no plan has %q", kind)
		}
	}
}
