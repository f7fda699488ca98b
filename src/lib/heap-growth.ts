import { setFlagsFromString } from "node:v8";

/** By default V8 lets the heap grow to three times its live size before it collects; small appliances need that memory. */
export function limitHeapGrowth(): void {
  setFlagsFromString("--heap-growing-percent=50");
}
