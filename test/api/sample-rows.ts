import { ALARM_IDS } from "../../src/resources/alarms/alarm-types.ts";
import callmgrClusters from "../../src/resources/callmgr/callmgr-clusters.ts";
import { canonicalPath, createCatalogue, methodsOf, pathParams } from "../../src/schema/catalogue.ts";
import type { AnyResource, ResourcePath } from "../../src/schema/resource.ts";
import {
  fileFields,
  formPairs,
  type IdOf,
  isSampleReference,
  type SampleOverrides,
  sampleFile,
  sampleInput,
} from "../support/sample-values.ts";
import type { ApiFixture } from "./api-fixture.ts";
import type { FormEntries, ReceivedResponse, RequestOptions } from "./http-client.ts";

/** Where rows of a resource are made: a collection below parents made for it, and the parents' ids by placeholder. */
export interface SampleCollection {
  path: ResourcePath;
  /** `/users/0190…/devices` */
  collection: string;
  parents: Record<string, string>;
}

/** Makes valid bodies and rows of any declaration over the API. */
export interface SampleRows {
  /** A collection below new parents. */
  place(path: ResourcePath, resource: AnyResource): Promise<SampleCollection>;
  /** A valid body for a new row there. */
  input(
    resource: AnyResource,
    place: SampleCollection,
    options?: { requiredOnly?: boolean },
  ): Promise<Record<string, unknown>>;
  /** Posts a new row with a full body. */
  post(resource: AnyResource, place: SampleCollection): Promise<ReceivedResponse>;
}

/** Resources whose rows only a room makes: the row that stands for them here. */
type Given = Readonly<Record<string, () => Promise<string>>>;

/** Rows that are there from the beginning, and those that need more than what is required of all. */
export function existingRows(api: () => ApiFixture): Given {
  return {
    alarms: async () => ALARM_IDS.onprem_server_red,
    "callmgr-clusters": async () => {
      const needed = { axlAddress: "publisher.example.org", axlUser: "axl", snmpVersion: "2", snmpCommunity: "public" };
      return (await api().store.create(callmgrClusters, { name: "Sample", ...needed }, api().system)).id;
    },
  };
}

/** Makes sample rows through `api`. */
export function createSampleRows(api: () => ApiFixture, table: SampleOverrides, given: Given): SampleRows {
  let serial = 1;
  const known = new Map<string, string>();

  async function newRow(resource: AnyResource, parents: Record<string, string>): Promise<string> {
    const fixed = given[resource.name];
    if (fixed) return fixed();
    const path = resource.paths.find((each) => methodsOf(each).includes("post"));
    // The appliance makes these, such as the voices of the program that speaks.
    if (!path) return (await api().store.create(resource, {}, api().system)).id;
    const place = await placeOf(path, resource, parents);
    const input = await inputOf(resource, place, { requiredOnly: true });
    const answer = await api().call("POST", place.collection, requestOptionsFor(resource, input));
    if (answer.status !== 200) throw new Error(`no sample of ${resource.name}: ${answer.text}`);
    return answer.body.id as string;
  }

  /** What is known above a resource, so that rows of several levels lie in each other. */
  function knownParents(resource: AnyResource): Record<string, string> {
    const parents = pathParams(canonicalPath(resource)).map((name) => {
      const field = resource.fields[name];
      return [name, field?.kind === "ref" ? known.get(field.to) : undefined] as const;
    });
    return Object.fromEntries(parents.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  /** The row that others refer to; what it lies in is known then, too. */
  async function knownRow(name: string): Promise<string> {
    const found = known.get(name);
    if (found) return found;
    const resource = createCatalogue(api().declarations).byName(name);
    for (const param of resource.paths.length > 0 && !given[name] ? pathParams(canonicalPath(resource)) : []) {
      const field = resource.fields[param];
      if (field?.kind === "ref") await knownRow(field.to);
    }
    const id = await newRow(resource, knownParents(resource));
    known.set(name, id);
    return id;
  }

  async function placeOf(
    path: ResourcePath,
    resource: AnyResource,
    known: Record<string, string>,
  ): Promise<SampleCollection> {
    const catalogue = createCatalogue(api().declarations);
    const owner = path.through ? catalogue.byName(path.through.resource) : resource;
    const parents: Record<string, string> = {};
    for (const name of pathParams(path)) {
      const field = owner.fields[name];
      if (field?.kind !== "ref") throw new Error(`${name} is no parent`);
      parents[name] = known[name] ?? (await newRow(catalogue.byName(field.to), { ...known, ...parents }));
    }
    const collection = Object.entries(parents).reduce((at, [name, id]) => at.replace(`{${name}}`, id), path.at);
    return { path, collection: `/${collection}`, parents };
  }

  /** One row per referred family is enough, but for the references that make a row unique. */
  async function inputOf(
    resource: AnyResource,
    { parents }: SampleCollection,
    options: { requiredOnly?: boolean } = {},
  ) {
    const catalogue = createCatalogue(api().declarations);
    for (const field of Object.values(resource.fields)) {
      if ((field.kind !== "ref" && field.kind !== "many") || field.readOnly || !catalogue.has(field.to)) continue;
      if (options.requiredOnly && !field.required) continue;
      await knownRow(field.to);
    }
    for (const name of Object.keys(resource.fields)) {
      const fixed = table[`${resource.name}.${name}`];
      if (!isSampleReference(fixed) || known.has(fixed.needs)) continue;
      known.set(fixed.needs, await newRow(catalogue.byName(fixed.needs), {}));
    }
    const idOf: IdOf = (name) => known.get(name) ?? null;
    const input = { ...sampleInput(resource, { serial: serial++, idOf, table, ...options }), ...parents };
    for (const name of (resource.unique ?? []).flat()) {
      const field = resource.fields[name];
      if (field?.kind === "ref" && field.required && !parents[name]) {
        (input as Record<string, unknown>)[name] = await newRow(catalogue.byName(field.to), {});
      }
    }
    return input;
  }

  return {
    place: (path, resource) => placeOf(path, resource, {}),
    input: inputOf,
    async post(resource, place) {
      const answer = await api().call(
        "POST",
        place.collection,
        requestOptionsFor(resource, await inputOf(resource, place)),
      );
      if (answer.status !== 200) throw new Error(`POST ${place.collection}: ${answer.text}`);
      return answer;
    },
  };
}

/** How a body is sent: as JSON, or with the files that it must have as multipart. */
export function requestOptionsFor(resource: AnyResource, input: Readonly<Record<string, unknown>>): RequestOptions {
  const needed = fileFields(resource).filter(([, field]) => field.required);
  if (needed.length === 0) return { json: input };
  const files: FormEntries = needed.map(([name, field]) => [
    name,
    new File([new Uint8Array(sampleFile(field).bytes)], "sample"),
  ]);
  return { multipart: [...formPairs(resource, input), ...files] };
}
