import { afterAll, beforeAll, expect, it } from "vitest";
import { type CompileScope, compileScope } from "../../../src/permissions/user-scope.ts";
import userPermissions from "../../../src/resources/security/user-permissions.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { openApi } from "../api-fixture.ts";
import { buildDomainWorld, type DomainWorld } from "./domain-world.ts";
import { type MatrixCase, matrixCases, runMatrix } from "./matrix.ts";

let world: DomainWorld;
let cases: MatrixCase[];
let compile: CompileScope = compileScope;
beforeAll(async () => {
  world = await buildDomainWorld(await openApi(makeTempDir(), { compile: (needs) => compile(needs) }));
  cases = matrixCases(world);
}, 60_000);
afterAll(() => world.api.close());

it("hides resources outside the caller's visibility on every route and selector", async () => {
  const began = process.cpuUsage();
  const outcome = await runMatrix(world, cases);
  console.log(
    `access matrix: ${outcome.cases} cases, ${outcome.violations.length} violations, ${Math.round(process.cpuUsage(began).user / 1_000)} ms of CPU`,
  );
  expect(outcome.violations).toEqual([]);
  expect(outcome.cases).toBeGreaterThan(5_000);
}, 300_000);

/** Faults that the matrix must find, each a decision gone wrong. */
const PLANTED: Readonly<Record<string, CompileScope>> = {
  "the acting domain is forgotten": (needs) => {
    const top = needs.acting?.above.at(-1) ?? needs.acting;
    return { ...compileScope({ ...needs, acting: top }), domainId: needs.acting?.id ?? null };
  },
  "the domain above is acted in": (needs) => compileScope({ ...needs, acting: needs.acting?.parent ?? needs.acting }),
  "the scopes of a token are forgotten": (needs) => compileScope({ ...needs, tokenLimit: null }),
  "a grant within a domain holds everywhere": (needs) => {
    const grants = needs.rights.grants.map((grant) => ({ ...grant, domainId: null }));
    return compileScope({ ...needs, rights: { ...needs.rights, grants } });
  },
  "what is shared may be changed": (needs) => {
    const scope = compileScope(needs);
    return { ...scope, changeable: scope.domainVisibility };
  },
  "references are not hidden": (needs) => ({ ...compileScope(needs), domainVisibility: { visible: () => "all" } }),
  "permission is enough to see": (needs) => {
    const scope = compileScope(needs);
    const everywhere = compileScope({ ...needs, acting: needs.acting?.above.at(-1) ?? needs.acting });
    return { ...scope, visible: everywhere.visible };
  },
};

/** Where a fault shows is asked first, so that all of them are found soon. */
const LIKELY: Readonly<Record<string, (each: MatrixCase) => boolean>> = {
  "the scopes of a token are forgotten": ({ actor, status }) => actor.name === "narrow" && status === 403,
  "a grant within a domain holds everywhere": ({ actor, status }) => actor.name === "limited" && status === 403,
  "what is shared may be changed": ({ method, status }) => method === "PUT" && status === 403,
};

it.each(Object.keys(PLANTED))(
  "notices when %s",
  async (fault) => {
    compile = PLANTED[fault] as CompileScope;
    await forgetScopes();
    const isLikely = LIKELY[fault] ?? (() => false);
    const ordered = [...cases.filter(isLikely), ...cases.filter((each) => !isLikely(each))];
    const { cases: asked, violations } = await runMatrix(world, ordered, 1);
    console.log(`${fault}: noticed after ${asked} cases`);
    expect(violations.length).toBeGreaterThan(0);
    compile = compileScope;
    await forgetScopes();
  },
  60_000,
);

/** What was compiled is forgotten with any change of a right. */
async function forgetScopes(): Promise<void> {
  const { store, system, adminId } = world.api;
  const grant = { userId: adminId, verb: "get", spec: "/users/*" };
  const { id } = await store.create(userPermissions, grant, system);
  await store.remove(userPermissions, id, system);
}
