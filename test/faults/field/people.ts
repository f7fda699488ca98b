import { setTimeout as pause } from "node:timers/promises";
import type { Member } from "./members.ts";

/** People of a school whose rows the cloud loads from a file, again and again. */
export interface People {
  /** Renames all of them by one load; gives the new name of the last one. Throws an Error when the load did not change all. */
  rename(name: string): Promise<string>;
  /** What the last one is called at a member; null while it does not know them. */
  lastAt(member: Member): Promise<string | null>;
}

interface Run {
  id: string;
  state: string;
  reason: string | null;
  usersCreated: number;
  usersChanged: number;
  endedAt: string | null;
}

const LOOK_MS = 100;

/** Makes `count` people in the cloud, called `name` with their numbers. */
export async function loadPeople({ api }: Member, count: number, name: string): Promise<People> {
  const source = await api.post<{ id: string }>("/load-definitions", { name: "School", type: "table" });
  const path = `/load-definitions/${source.id}`;
  const mailOf = (place: number): string => `person${place}@example.org`;

  async function load(called: string): Promise<Run> {
    const lines = Array.from({ length: count }, (_, place) => `${mailOf(place)},${called} ${place},`);
    await api.upload(
      `${path}/file`,
      new Blob([["email,name,lists", ...lines].join("\n")], { type: "text/csv" }),
      "people.csv",
    );
    const { id } = await api.post<Run>(`${path}/runs`, {});
    for (;;) {
      const run = await api.get<Run & Record<string, unknown>>(`${path}/runs/${id}`);
      if (run.endedAt !== null) return run;
      await pause(LOOK_MS);
    }
  }

  const made = await load(name);
  if (made.usersCreated !== count) throw new Error(`the people were not made: ${JSON.stringify(made)}`);
  const found = await api.get<{ data: { id: string }[] }>(`/users?name=${encodeURIComponent(`${name} ${count - 1}`)}`);
  const [last] = found.data;
  if (!last) throw new Error("the last one of the people is not found");
  return {
    async rename(called) {
      const run = await load(called);
      if (run.usersChanged !== count) throw new Error(`the people were not renamed: ${JSON.stringify(run)}`);
      return `${called} ${count - 1}`;
    },
    async lastAt(member) {
      const { name: is } = await member.api
        .get<{ name?: string }>(`/users/${last.id}`)
        .catch(() => ({ name: undefined }));
      return is ?? null;
    },
  };
}
