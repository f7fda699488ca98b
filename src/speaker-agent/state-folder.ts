import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What an agent was told when it registered. */
export interface AgentRegistration {
  server: string;
  mac: string;
  token: string;
  /** Key that the appliance signs plans of rings with: base64 of its 32 bytes. Null when it gave none. */
  planKey: string | null;
}

/** The folder of an agent, for its own user alone. */
export interface StateFolder {
  readRegistration(): Promise<AgentRegistration | null>;
  writeRegistration(membership: AgentRegistration): Promise<void>;
  /** A file by its name; null when there is none. */
  read(name: string): Promise<Buffer | null>;
  /** Writes a file as a whole or not at all; it is on the disk once this resolves. One write of a name at a time. */
  write(name: string, content: string | Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  /** Names of the files. */
  list(): Promise<string[]>;
}

/** Opens the folder, made where there is none. */
export async function openStateFolder(path: string): Promise<StateFolder> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
  const read = (name: string): Promise<Buffer | null> => readFile(join(path, name)).catch(() => null);
  const write = async (name: string, content: string | Uint8Array): Promise<void> => {
    await writeFile(join(path, `${name}.new`), content, { mode: 0o600, flush: true });
    await rename(join(path, `${name}.new`), join(path, name));
  };
  return {
    read,
    write,
    remove: (name) => rm(join(path, name), { force: true }),
    list: () => readdir(path),
    async readRegistration() {
      const text = await read("membership.json");
      return text && (JSON.parse(text.toString("utf8")) as AgentRegistration);
    },
    writeRegistration: (membership) => write("membership.json", JSON.stringify(membership)),
  };
}
