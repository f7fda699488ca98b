import { expect } from "vitest";
import type { Answered, TestDaemon } from "../support/daemon.ts";

/** What the API answers, as far as the contract tests look into it. */
export type Body = Record<string, unknown> & {
  id: string;
  token: string;
  total: number;
  data: Body[];
  permissions: string[];
};

/** Calls of the API as contract tests write them. */
export interface ContractCaller {
  call(method: string, path: string, body?: object, token?: string): Promise<Answered<Body>>;
  /** Creates and expects it to succeed. */
  made(path: string, body?: object): Promise<Body>;
  /** A refusal as `status type field`, the field of the first fault. */
  refusal(method: string, path: string, body?: object, token?: string): Promise<string>;
}

/** Makes the calls; `daemon` gives the one that runs by then. */
export function createContractCaller(daemon: () => TestDaemon): ContractCaller {
  const call: ContractCaller["call"] = (method, path, body, token) => daemon().call<Body>(method, path, body, token);
  return {
    call,
    async made(path, body = {}) {
      const answer = await call("POST", path, body);
      expect([path, answer.status, answer.body.message]).toEqual([path, 200, undefined]);
      return answer.body;
    },
    async refusal(method, path, body, token) {
      const answer = await call(method, path, body, token);
      const [first] = (answer.body.errors ?? []) as { field: string }[];
      return `${answer.status} ${answer.body.type} ${first?.field ?? ""}`.trim();
    },
  };
}
