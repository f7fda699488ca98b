import { invalidValue } from "../../lib/errors.ts";

/** Distribution of response times: constant, uniform, or log-normal with the long tail of real networks. */
export type ResponseLatency =
  | { kind: "fixed"; ms: number }
  | { kind: "uniform"; fromMs: number; toMs: number }
  | { kind: "lognormal"; medianMs: number; minMs: number; maxMs: number };

const LATENCY_SYNTAX = "Must be fixed:MS, uniform:A:B or lognormal:MEDIAN:MIN:MAX (milliseconds).";

/** Parses `fixed:MS`, `uniform:A:B` or `lognormal:MEDIAN:MIN:MAX`; CallerError for anything else. */
export function parseLatency(text: string): ResponseLatency {
  const [kind, ...rest] = text.split(":");
  const numbers = rest.map((part) => (/^\d+(\.\d+)?$/.test(part) ? Number(part) : Number.NaN));
  const [a, b, c] = numbers;
  if (numbers.some(Number.isNaN)) throw invalidValue("latency", LATENCY_SYNTAX);
  if (kind === "fixed" && a !== undefined && numbers.length === 1) return { kind, ms: a };
  if (kind === "uniform" && a !== undefined && b !== undefined && numbers.length === 2 && a <= b) {
    return { kind, fromMs: a, toMs: b };
  }
  if (kind === "lognormal" && a !== undefined && b !== undefined && c !== undefined && numbers.length === 3) {
    if (a > 0 && b <= a && a <= c) return { kind, medianMs: a, minMs: b, maxMs: c };
  }
  throw invalidValue("latency", LATENCY_SYNTAX);
}

/**
 * A response time in ms; `random(n)` returns the n-th independent number in [0, 1) of this draw. For the log-normal
 * distribution MAX is three standard deviations above the median, and values outside MIN..MAX are clamped.
 * @source docs/decisions/0019-simulator.md
 */
export function sampleLatency(latency: ResponseLatency, random: (n: number) => number): number {
  if (latency.kind === "fixed") return latency.ms;
  if (latency.kind === "uniform") return latency.fromMs + random(0) * (latency.toMs - latency.fromMs);
  const spread = Math.log(latency.maxMs / latency.medianMs) / 3;
  const drawn = latency.medianMs * Math.exp(spread * standardNormal(random(0), random(1)));
  return Math.min(latency.maxMs, Math.max(latency.minMs, drawn));
}

/** A standard normal number from two uniform ones. @source Box and Muller 1958 */
function standardNormal(first: number, second: number): number {
  return Math.sqrt(-2 * Math.log(1 - first)) * Math.cos(2 * Math.PI * second);
}
