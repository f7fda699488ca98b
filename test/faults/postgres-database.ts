import { openFailoverProxy } from "../support/failover-proxy.ts";
import { startPostgres, type TestPostgres, type TestReplica } from "../support/postgres.ts";
import type { NetworkField } from "./field/network-namespaces.ts";

/** A database on a machine of its own, which may be lost. */
export interface PostgresMachine {
  url: string;
  restart(how: "crash" | "fast"): Promise<void>;
  /** It is lost with all it has; its replica becomes the database, under the same address. */
  failOver(): Promise<void>;
  /** Makes a replica where there is none. */
  mend(): Promise<void>;
  end(): Promise<void>;
}

const FIRST_PORT = 5_500;

/** Makes one with a replica, under one address. */
export async function openPostgresMachine({ own }: NetworkField): Promise<PostgresMachine> {
  let port = FIRST_PORT;
  const listen = (): { host: string; port: number } => ({ host: own, port: port++ });
  const atFirst = listen();
  let server: TestPostgres = await startPostgres({ durable: true, listen: atFirst });
  let replica: TestReplica | null = null;
  let behind = atFirst;
  const address = await openFailoverProxy(own, [atFirst]);
  async function mend(): Promise<void> {
    if (replica) return;
    behind = listen();
    replica = await server.replicate(behind);
  }
  await mend();
  return {
    url: Object.assign(new URL(server.url), { host: `${own}:${address.port}` }).href,
    restart: (how) => server.restart(how),
    async failOver() {
      const lost = server;
      await lost.kill();
      // Before it is promoted, as the order of these two is up to whoever does it.
      address.setTargets([behind]);
      replica?.promote();
      server = replica as TestPostgres;
      replica = null;
      await lost.stop();
    },
    mend,
    async end() {
      address.end();
      await replica?.stop();
      await server.stop();
    },
  };
}
