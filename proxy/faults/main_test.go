package faults_test

import (
	"os"
	"testing"

	"redlockproxy/proxy/redistest"
)

func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }
