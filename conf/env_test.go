package conf

import "testing"

func TestUnknownVariableIsAnError(t *testing.T) {
	for _, c := range []struct{ entry, part string }{
		{"REDLOCK_PROXY_SERVER_LISEN=127.0.0.1:1", "REDLOCK_PROXY_SERVER_LISTEN?"},
		{"REDLOCK_PROXY_LISTEN=127.0.0.1:1", "REDLOCK_PROXY_LISTEN"},
		{"REDLOCK_PROXY_=", "REDLOCK_PROXY_"},
		{"REDLOCK_PROXY_SERVER_PORT=6380", "REDLOCK_PROXY_SERVER_PORT"},
		{"REDLOCK_PROXY_server_listen=127.0.0.1:1", "did you mean REDLOCK_PROXY_SERVER_LISTEN?"},
	} {
		loadFails(t, nil, []string{c.entry}, nil, c.part)
	}
}

func TestMistakesInVariablesNameThem(t *testing.T) {
	for _, entry := range []string{
		"REDLOCK_PROXY_SERVER_MAX_CLIENTS=", "REDLOCK_PROXY_SERVER_MAX_CLIENTS=many", "REDLOCK_PROXY_SERVER_MAX_CLIENTS=1e3",
		"REDLOCK_PROXY_GROUP_PAD_TTL=yes", "REDLOCK_PROXY_LANE_VOTE=100", "REDLOCK_PROXY_LANE_VOTE=-100ms",
		"REDLOCK_PROXY_LOG_FORMAT=xml", "REDLOCK_PROXY_GROUP_BACKENDS=a:1,b:2",
	} {
		name := entry[:len("REDLOCK_PROXY_LANE_")]
		loadFails(t, nil, []string{entry}, nil, name)
	}
}

func TestServiceLinksOfKubernetesAreNoMistakes(t *testing.T) {
	load(t, nil, []string{
		"REDLOCK_PROXY_SERVICE_HOST=10.0.0.1",
		"REDLOCK_PROXY_SERVICE_PORT=6380",
		"REDLOCK_PROXY_SERVICE_PORT_REDIS=6380",
		"REDLOCK_PROXY_PORT=tcp://10.0.0.1:6380",
		"REDLOCK_PROXY_PORT_6380_TCP=tcp://10.0.0.1:6380",
		"REDLOCK_PROXY_PORT_6380_TCP_PROTO=tcp",
		"REDLOCK_PROXY_PORT_6380_TCP_PORT=6380",
		"REDLOCK_PROXY_PORT_6380_TCP_ADDR=10.0.0.1",
		"REDLOCK_PROXY_ADMIN_SERVICE_HOST=10.0.0.2",
		"REDLOCK_PROXY_ADMIN_PORT_9121_TCP=tcp://10.0.0.2:9121",
	}, nil)
}
