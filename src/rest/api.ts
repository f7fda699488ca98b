import type http from "node:http";

export type { ApiNeeds } from "./needs.ts";

/** The HTTP interface. */
export interface Api {
  /** What an HTTP server serves, mounted at `/`: the API below `/api/`, plugins' routes below `/x/`. */
  callback(): http.RequestListener;
}
