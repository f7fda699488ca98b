import { expect } from "vitest";
import type { ApiResult, TestDaemon } from "../support/daemon.ts";

/** What the API answers, as far as the contract tests look into it. */
export type ContractBody = Record<string, unknown> & {
  id: string;
  token: string;
  total: number;
  data: ContractBody[];
  permissions: string[];
};

/** Calls of the API as contract tests write them. */
export interface ContractClient {
  call(method: string, path: string, body?: object, token?: string): Promise<ApiResult<ContractBody>>;
  /** Creates and expects it to succeed. */
  create(path: string, body?: object): Promise<ContractBody>;
  /** A refusal as `status type field`, the field of the first fault. */
  refusal(method: string, path: string, body?: object, token?: string): Promise<string>;
}

/** Makes the calls; `daemon` gives the one that runs by then. */
export function createContractClient(daemon: () => TestDaemon): ContractClient {
  const call: ContractClient["call"] = (method, path, body, token) =>
    daemon().call<ContractBody>(method, path, body, token);
  return {
    call,
    async create(path, body = {}) {
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
