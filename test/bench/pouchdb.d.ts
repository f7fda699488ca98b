/** What the benchmark uses of PouchDB, which brings no types along. */
declare module "pouchdb-core" {
  interface Doc {
    _id: string;
    _rev?: string | undefined;
  }
  export default class PouchDB {
    static plugin(plugin: unknown): typeof PouchDB;
    readonly replicate: { to(other: PouchDB, options: { batch_size: number }): Promise<unknown> };
    constructor(name: string, options: { adapter: string });
    bulkDocs(docs: readonly Doc[]): Promise<unknown>;
    allDocs(): Promise<{ rows: { value: { rev: string } }[] }>;
    destroy(): Promise<void>;
  }
}
declare module "pouchdb-adapter-memory";
declare module "pouchdb-replication";
