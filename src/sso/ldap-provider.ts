import { randomUUID } from "node:crypto";
import { isIP, connect as plainConnect } from "node:net";
import { type ConnectionOptions, connect as secureConnect } from "node:tls";
import type { Client, Entry } from "ldapts";
import { createAttemptThrottle } from "../auth/attempt-throttle.ts";
import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import { TooManyRequestsError, UpstreamError } from "../lib/errors.ts";
import type { ResolvedAddress } from "../lib/ssrf-guard.ts";
import { readClaimTexts } from "./claim-values.ts";
import {
  type ExternalIdentity,
  type Provider,
  type ProviderCheck,
  type ProviderDeps,
  type ProviderFinding,
  type ProviderGroup,
  runCheck,
} from "./provider.ts";

/** How long connecting and each question may take. own choice */
const TIMEOUT_MS = 10_000;
/** Entries of one page of a search; directories of the field allow 1,000. */
const PAGE_SIZE = 500;
/** Groups of one person that are read. own choice */
const MAX_GROUPS = 1_000;

/** own choice: as at accounts here, since a directory knows one person by many spellings. */
const THROTTLE_POLICY = { freeAttempts: 5, initialDelayMs: 1_000, maxDelayMs: 30_000 };

const USER_FILTER = "(|(mail={login})(uid={login})(sAMAccountName={login}))";
const GROUP_FILTER = "(member={dn})";
/** What tells entries apart for ever, the first one that an entry has. @source RFC 4530; Active Directory, objectGUID */
const SUBJECT_ATTRIBUTES = ["entryUUID", "objectGUID"];

/** Fills a filter with values in which no sign means anything to the filter. @source RFC 4515 §3 */
function fillFilter(filter: string, values: Readonly<Record<string, string>>): string {
  const escaped = (value: string): string =>
    value.replace(/[\0()*\\]/g, (sign) => `\\${sign.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return filter.replace(/\{(\w+)\}/g, (place, name: string) =>
    values[name] === undefined ? place : escaped(values[name]),
  );
}

/**
 * A directory (LDAP 3, Active Directory): who logs in is searched, then bound as; groups are those that name the person.
 * @source RFC 4511, RFC 4513 §5.1.2 (an empty password binds as nobody and is never sent)
 */
export function createLdapProvider(row: IdentityProviderRow, deps: ProviderDeps): Provider {
  const { userFilter } = row;
  const attempts = createAttemptThrottle(deps.clock, THROTTLE_POLICY);
  const find = (client: Client, login: string): Promise<Entry[]> =>
    searchDirectory(
      client,
      row.userBase ?? "",
      fillFilter(userFilter ?? USER_FILTER, { login }),
      requestedAttributes(row),
      2,
    );
  return {
    test: () => test(row, deps),
    password: {
      async verify({ login, password }) {
        if (password === "" || login.trim() === "") return null;
        return withClient(row, deps, async (client) => {
          const [entry, other] = await find(client, login.trim());
          // Two that fit are nobody, who is to take as long as a wrong password.
          if (!entry || other || isDisabled(entry)) {
            await verifyPassword(row, deps, `cn=${randomUUID()},${row.userBase}`, password).catch(() => false);
            return null;
          }
          const key = entry.dn.toLowerCase();
          const seconds = attempts.begin(key);
          if (seconds > 0) throw new TooManyRequestsError(seconds);
          const isRight = await verifyPassword(row, deps, entry.dn, password).catch((error: unknown) => {
            attempts.rollback(key);
            throw error;
          });
          if (!isRight) return null;
          attempts.reset(key);
          return readIdentity(row, client, entry);
        });
      },
      findPeople: (subjects) => findPeople(row, deps, subjects),
    },
  };
}

async function* findPeople(
  row: IdentityProviderRow,
  deps: ProviderDeps,
  subjects: ReadonlySet<string>,
): AsyncGenerator<ExternalIdentity, void, undefined> {
  const client = await connect(row, deps);
  try {
    await bind(client, row, deps);
    // A star is what any login looks like.
    const filter = (row.userFilter ?? USER_FILTER).replaceAll("{login}", "*");
    const options = { ...searchOptions(filter, requestedAttributes(row)), paged: { pageSize: PAGE_SIZE } } as const;
    for await (const { searchEntries } of client.searchPaginated(row.userBase ?? "", options)) {
      for (const entry of searchEntries) {
        const subject = readSubject(row, entry);
        if (subject === null || !subjects.has(subject) || isDisabled(entry)) continue;
        yield await readIdentity(row, client, entry);
      }
    }
  } catch (error) {
    throw toUpstreamError(row, error);
  } finally {
    await client.unbind().catch(() => undefined);
  }
}

/** Runs `work` with a connection that may search. Throws UpstreamError. */
async function withClient<T>(
  row: IdentityProviderRow,
  deps: ProviderDeps,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await connect(row, deps);
  try {
    await bind(client, row, deps);
    return await work(client);
  } catch (error) {
    throw toUpstreamError(row, error);
  } finally {
    await client.unbind().catch(() => undefined);
  }
}

/** Whether somebody may bind as the entry with the password, on a connection of its own. */
async function verifyPassword(
  row: IdentityProviderRow,
  deps: ProviderDeps,
  dn: string,
  password: string,
): Promise<boolean> {
  const { InvalidCredentialsError } = await import("ldapts");
  const client = await connect(row, deps);
  try {
    await client.bind(dn, password);
    return true;
  } catch (error) {
    if (error instanceof InvalidCredentialsError) return false;
    throw error;
  } finally {
    await client.unbind().catch(() => undefined);
  }
}

async function bind(
  client: Client,
  { bindDn, bindPassword }: IdentityProviderRow,
  { store }: ProviderDeps,
): Promise<void> {
  if (bindDn === null || bindDn === "") return;
  await client.bind(bindDn, bindPassword ? store.secrets.open(bindPassword) : "");
}

/** A connection to the one address that the policy allows, with TLS where the row says so. Throws UpstreamError. */
async function connect(row: IdentityProviderRow, { policy }: ProviderDeps): Promise<Client> {
  const { Client } = await import("ldapts");
  if (!row.url) throw new UpstreamError("upstream", `${row.name} has no address yet.`, { provider: row.id });
  const { hostname } = new URL(row.url);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const address = await policy.resolveAllowed(host);
  const tls = tlsOptions(row, host);
  const client = new Client({
    url: row.url,
    timeout: TIMEOUT_MS,
    connectTimeout: TIMEOUT_MS,
    createConnection: ((port: number) =>
      plainConnect({ port, ...pinnedAddress(host, address) })) as typeof plainConnect,
    createSecureConnection: ((portOrOptions: number | ConnectionOptions) =>
      typeof portOrOptions === "number"
        ? secureConnect({ ...tls, port: portOrOptions, ...pinnedAddress(host, address) })
        : secureConnect({ ...tls, ...portOrOptions })) as typeof secureConnect,
  });
  try {
    if (row.startTls) await client.startTLS(tls);
  } catch (error) {
    await client.unbind().catch(() => undefined);
    throw toUpstreamError(row, error);
  }
  return client;
}

/** The name was resolved and judged; a second look-up could lead elsewhere. */
function pinnedAddress(host: string, { address, family }: ResolvedAddress): Pick<ConnectionOptions, "host" | "lookup"> {
  return {
    host,
    lookup: (_host, { all }, done) => (all ? done(null, [{ address, family }]) : done(null, address, family)),
  };
}

function tlsOptions({ caCertificates: ca }: IdentityProviderRow, host: string): ConnectionOptions {
  return { ...(ca ? { ca } : {}), host, ...(isIP(host) === 0 ? { servername: host } : {}) };
}

async function searchDirectory(
  client: Client,
  base: string,
  filter: string,
  attributes: string[],
  most: number,
): Promise<Entry[]> {
  const { SizeLimitExceededError } = await import("ldapts");
  try {
    return (await client.search(base, { ...searchOptions(filter, attributes), sizeLimit: most })).searchEntries;
  } catch (error) {
    // As many as there is room for is enough to know that there are more.
    if (error instanceof SizeLimitExceededError) return Array.from({ length: most }, () => ({ dn: "" }));
    throw error;
  }
}

/** Bytes that happen to be a text stay bytes. */
function searchOptions(filter: string, attributes: string[]) {
  return { scope: "sub" as const, filter, attributes, explicitBufferAttributes: ["objectGUID"] };
}

function requestedAttributes(row: IdentityProviderRow): string[] {
  const { subjectAttribute: subject, emailAttribute: email, nameAttribute: name } = row;
  return [...(subject ? [subject] : SUBJECT_ATTRIBUTES), email ?? "mail", name ?? "cn", ...DISABLED_ATTRIBUTES];
}

/** What says that an account is switched off: a bit of Active Directory's, a word of others. */
const DISABLED_ATTRIBUTES = ["userAccountControl", "nsAccountLock"];

/** Whoever is switched off may not log in, and is gone when users are brought in line. @source Active Directory, ACCOUNTDISABLE */
function isDisabled({ userAccountControl: bits, nsAccountLock: word }: Entry): boolean {
  return (Number(readClaimTexts(bits)[0] ?? 0) & 2) !== 0 || readClaimTexts(word)[0]?.toLowerCase() === "true";
}

async function readIdentity(row: IdentityProviderRow, client: Client, entry: Entry): Promise<ExternalIdentity> {
  const subject = readSubject(row, entry);
  if (subject === null)
    throw new UpstreamError("upstream", `${row.name}: ${entry.dn} has nothing that it keeps for ever.`);
  const [email] = readClaimTexts(entry[row.emailAttribute ?? "mail"]);
  const [name] = readClaimTexts(entry[row.nameAttribute ?? "cn"]);
  return { subject, email: email ?? null, name: name ?? null, groups: await readGroups(row, client, entry.dn) };
}

/** Ids of Active Directory are bytes. */
function readSubject({ subjectAttribute }: IdentityProviderRow, entry: Entry): string | null {
  for (const attribute of subjectAttribute ? [subjectAttribute] : SUBJECT_ATTRIBUTES) {
    const value = [entry[attribute]].flat()[0];
    if (Buffer.isBuffer(value) && value.length > 0) return value.toString("hex");
    const [text] = readClaimTexts(value);
    if (text !== undefined) return text;
  }
  return null;
}

async function readGroups(row: IdentityProviderRow, client: Client, dn: string): Promise<ProviderGroup[] | null> {
  if (row.groupBase === null || row.groupBase === "") return null;
  const filter = fillFilter(row.groupFilter ?? GROUP_FILTER, { dn });
  const found = await searchDirectory(client, row.groupBase, filter, ["cn"], MAX_GROUPS);
  // More than are read: better those of the last time than none.
  if (found.some(({ dn: name }) => name === "")) return null;
  return found.map((entry) => ({ name: readGroupName(entry), externalId: entry.dn }));
}

function readGroupName(entry: Entry): string {
  return readClaimTexts(entry.cn)[0] ?? entry.dn;
}

/** Everything that goes wrong with a directory, in words for people: its host and what it says, no password. */
function toUpstreamError(row: IdentityProviderRow, error: unknown): UpstreamError | TooManyRequestsError {
  if (error instanceof UpstreamError || error instanceof TooManyRequestsError) return error;
  const said =
    error instanceof Error ? `${error.name === "Error" ? "" : `${error.name}: `}${error.message}` : String(error);
  return new UpstreamError(
    "upstream",
    `${row.name} can't be asked: ${said}`.slice(0, 500),
    { provider: row.id },
    error,
  );
}

/** People and groups that a test counts up to. own choice */
const MAX_COUNTED = 1_000;

const ENCRYPTION_NAMES = { tls: "TLS", starttls: "STARTTLS", plain: "no encryption" } as const;

async function test(row: IdentityProviderRow, deps: ProviderDeps): Promise<ProviderCheck[]> {
  const checks: ProviderCheck[] = [];
  const way = row.url?.startsWith("ldaps:") ? "tls" : row.startTls ? "starttls" : "plain";
  const client = await runCheck(
    checks,
    "address",
    () => connect(row, deps),
    () => ({
      code: `called-${way}`,
      value: row.url,
      words: `${row.url} may be called, with ${ENCRYPTION_NAMES[way]}.`,
    }),
  );
  if (!client) return checks;
  try {
    const isBound = await runCheck(
      checks,
      "bind",
      async () => {
        await bind(client, row, deps).catch((error: unknown) => {
          throw toUpstreamError(row, error);
        });
        return true;
      },
      () =>
        row.bindDn
          ? { code: "may-search", value: row.bindDn, words: `${row.bindDn} may search.` }
          : { code: "searched-as-nobody", words: "It is searched as nobody in particular." },
    );
    if (!isBound) return checks;
    const filter = (row.userFilter ?? USER_FILTER).replaceAll("{login}", "*");
    await runCheck(checks, "users", () => countEntries(client, row, row.userBase ?? "", filter), peopleFinding);
    const groups = (row.groupFilter ?? GROUP_FILTER).replaceAll("{dn}", "*");
    if (row.groupBase)
      await runCheck(checks, "groups", () => countEntries(client, row, row.groupBase ?? "", groups), groupCountFinding);
    return checks;
  } finally {
    await client.unbind().catch(() => undefined);
  }
}

async function countEntries(client: Client, row: IdentityProviderRow, base: string, filter: string): Promise<number> {
  try {
    return (await searchDirectory(client, base, filter, ["1.1"], MAX_COUNTED)).length;
  } catch (error) {
    throw toUpstreamError(row, error);
  }
}

const atLeast = (n: number): string => (n >= MAX_COUNTED ? `≥ ${n}` : String(n));

function peopleFinding(n: number): ProviderFinding {
  return n === 0
    ? { code: "no-people", words: "Nobody is found: look at userBase and userFilter." }
    : { code: "people", value: atLeast(n), words: `People who can log in: ${atLeast(n)}.` };
}

function groupCountFinding(n: number): ProviderFinding {
  return n === 0
    ? { code: "no-groups", words: "No group is found: look at groupBase and groupFilter." }
    : { code: "groups", value: atLeast(n), words: `Groups that are found: ${atLeast(n)}.` };
}
