// A subpath of its own, so that who wants no Prometheus loads none.
export { prometheusMetrics, type MetricsOptions, type PrometheusMetrics } from './telemetry/prometheus.js';
