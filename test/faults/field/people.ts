import { setTimeout as pause } from "node:timers/promises";
import { listAll } from "../../../src/api-client/api-client.ts";
import type { FieldMember } from "./members.ts";

/** People of a school, whom the cloud loaded from a file. */
export interface LoadedPeople {
  /** Renames each of them by a request of its own; gives the new name of the last one. */
  rename(name: string): Promise<string>;
  /** What the last one is called at a member; null while it does not know them. */
  lastAt(member: FieldMember): Promise<string | null>;
}

interface Run {
  id: string;
  endedAt: string | null;
}

interface Person {
  id: string;
  email: string | null;
}

const LOOK_MS = 100;
const AT_ONCE = 32;

/** Makes `count` people in the cloud, called `name` with their numbers. */
export async function loadPeople({ api }: FieldMember, count: number, name: string): Promise<LoadedPeople> {
  const source = await api.post<{ id: string }>("/load-definitions", { name: "School", type: "table" });
  const path = `/load-definitions/${source.id}`;
  const mailOf = (place: number): string => `person${place}@example.org`;

  const lines = Array.from({ length: count }, (_, place) => `${mailOf(place)},${name} ${place},`);
  const file = new Blob([["email,name,lists", ...lines].join("\n")], { type: "text/csv" });
  await api.upload(`${path}/file`, file, "people.csv");
  let run = await api.post<Run & Record<string, unknown>>(`${path}/runs`, {});
  while (run.endedAt === null) {
    await pause(LOOK_MS);
    run = await api.get(`${path}/runs/${run.id}`);
  }
  const all = (await listAll<Person>(api, "/users")).filter(({ email }) => email?.startsWith("person"));
  if (all.length !== count) throw new Error(`${all.length} people were made: ${JSON.stringify(run)}`);
  const last = all.at(-1) as Person;
  return {
    async rename(called) {
      let next = 0;
      const worker = async (): Promise<void> => {
        for (let place = next++; place < count - 1; place = next++)
          await api.put(`/users/${all[place]?.id}`, { name: `${called} ${place}` });
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      await api.put(`/users/${last.id}`, { name: called });
      return called;
    },
    async lastAt(member) {
      const { name: is } = await member.api
        .get<{ name?: string }>(`/users/${last.id}`)
        .catch(() => ({ name: undefined }));
      return is ?? null;
    },
  };
}
