import { randomUUID } from "node:crypto";
import { isIP, connect as plainConnect } from "node:net";
import { type ConnectionOptions, connect as secureConnect } from "node:tls";
import type { Client, Entry } from "ldapts";
import { createAttempts } from "../access/attempts.ts";
import type { ProviderRow } from "../access/identity-providers.ts";
import type { ResolvedAddress } from "../base/address-policy.ts";
import { TooManyRequests, UpstreamError } from "../base/errors.ts";
import { textsIn } from "./attributes.ts";
import {
  type Finding,
  type NamedGroup,
  type Provider,
  type ProviderCheck,
  type ProviderNeeds,
  tried,
  type Vouched,
} from "./provider.ts";

/** How long connecting and each question may take. own choice */
const TIMEOUT_MS = 10_000;
/** Entries of one page of a search; directories of the field allow 1,000. */
const PAGE = 500;
/** Groups of one person that are read. own choice */
const MOST_GROUPS = 1_000;

/** own choice: as at accounts here, since a directory knows one person by many spellings. */
const BACK_OFF = { free: 5, firstMs: 1_000, mostMs: 30_000 };

const USER_FILTER = "(|(mail={login})(uid={login})(sAMAccountName={login}))";
const GROUP_FILTER = "(member={dn})";
/** What tells entries apart for ever, the first one that an entry has. @source RFC 4530; Active Directory, objectGUID */
const SUBJECTS = ["entryUUID", "objectGUID"];

/** Fills a filter with values in which no sign means anything to the filter. @source RFC 4515 §3 */
function filledFilter(filter: string, values: Readonly<Record<string, string>>): string {
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
export function directoryProvider(row: ProviderRow, needs: ProviderNeeds): Provider {
  const { userFilter } = row;
  const attempts = createAttempts(needs.clock, BACK_OFF);
  const find = (client: Client, login: string): Promise<Entry[]> =>
    entries(client, row.userBase ?? "", filledFilter(userFilter ?? USER_FILTER, { login }), attributesOf(row), 2);
  return {
    test: () => test(row, needs),
    password: {
      async verify({ login, password }) {
        if (password === "" || login.trim() === "") return null;
        return asked(row, needs, async (client) => {
          const [entry, other] = await find(client, login.trim());
          // Two that fit are nobody, who is to take as long as a wrong password.
          if (!entry || other || isSwitchedOff(entry)) {
            await isPassword(row, needs, `cn=${randomUUID()},${row.userBase}`, password).catch(() => false);
            return null;
          }
          const key = entry.dn.toLowerCase();
          const seconds = attempts.begin(key);
          if (seconds > 0) throw new TooManyRequests(seconds);
          const isRight = await isPassword(row, needs, entry.dn, password).catch((error: unknown) => {
            attempts.takeBack(key);
            throw error;
          });
          if (!isRight) return null;
          attempts.forget(key);
          return vouchedBy(row, client, entry);
        });
      },
      people: (subjects) => people(row, needs, subjects),
    },
  };
}

async function* people(
  row: ProviderRow,
  needs: ProviderNeeds,
  subjects: ReadonlySet<string>,
): AsyncGenerator<Vouched, void, undefined> {
  const client = await opened(row, needs);
  try {
    await bind(client, row, needs);
    // A star is what any login looks like.
    const filter = (row.userFilter ?? USER_FILTER).replaceAll("{login}", "*");
    const options = { ...sought(filter, attributesOf(row)), paged: { pageSize: PAGE } } as const;
    for await (const { searchEntries } of client.searchPaginated(row.userBase ?? "", options)) {
      for (const entry of searchEntries) {
        const subject = subjectOf(row, entry);
        if (subject === null || !subjects.has(subject) || isSwitchedOff(entry)) continue;
        yield await vouchedBy(row, client, entry);
      }
    }
  } catch (error) {
    throw outageOf(row, error);
  } finally {
    await client.unbind().catch(() => undefined);
  }
}

/** Runs `work` with a connection that may search. Throws UpstreamError. */
async function asked<T>(row: ProviderRow, needs: ProviderNeeds, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await opened(row, needs);
  try {
    await bind(client, row, needs);
    return await work(client);
  } catch (error) {
    throw outageOf(row, error);
  } finally {
    await client.unbind().catch(() => undefined);
  }
}

/** Whether somebody may bind as the entry with the password, on a connection of its own. */
async function isPassword(row: ProviderRow, needs: ProviderNeeds, dn: string, password: string): Promise<boolean> {
  const { InvalidCredentialsError } = await import("ldapts");
  const client = await opened(row, needs);
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

async function bind(client: Client, { bindDn, bindPassword }: ProviderRow, { store }: ProviderNeeds): Promise<void> {
  if (bindDn === null || bindDn === "") return;
  await client.bind(bindDn, bindPassword ? store.secrets.open(bindPassword) : "");
}

/** A connection to the one address that the policy allows, with TLS where the row says so. Throws UpstreamError. */
async function opened(row: ProviderRow, { policy }: ProviderNeeds): Promise<Client> {
  const { Client } = await import("ldapts");
  if (!row.url) throw new UpstreamError("upstream", `${row.name} has no address yet.`, { provider: row.id });
  const { hostname } = new URL(row.url);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const address = await policy.choose(host);
  const tls = tlsOf(row, host);
  const client = new Client({
    url: row.url,
    timeout: TIMEOUT_MS,
    connectTimeout: TIMEOUT_MS,
    createConnection: ((port: number) => plainConnect({ port, ...pinned(host, address) })) as typeof plainConnect,
    createSecureConnection: ((portOrOptions: number | ConnectionOptions) =>
      typeof portOrOptions === "number"
        ? secureConnect({ ...tls, port: portOrOptions, ...pinned(host, address) })
        : secureConnect({ ...tls, ...portOrOptions })) as typeof secureConnect,
  });
  try {
    if (row.startTls) await client.startTLS(tls);
  } catch (error) {
    await client.unbind().catch(() => undefined);
    throw outageOf(row, error);
  }
  return client;
}

/** The name was resolved and judged; a second look-up could lead elsewhere. */
function pinned(host: string, { address, family }: ResolvedAddress): Pick<ConnectionOptions, "host" | "lookup"> {
  return {
    host,
    lookup: (_host, { all }, done) => (all ? done(null, [{ address, family }]) : done(null, address, family)),
  };
}

function tlsOf({ caCertificates: ca }: ProviderRow, host: string): ConnectionOptions {
  return { ...(ca ? { ca } : {}), host, ...(isIP(host) === 0 ? { servername: host } : {}) };
}

async function entries(
  client: Client,
  base: string,
  filter: string,
  attributes: string[],
  most: number,
): Promise<Entry[]> {
  const { SizeLimitExceededError } = await import("ldapts");
  try {
    return (await client.search(base, { ...sought(filter, attributes), sizeLimit: most })).searchEntries;
  } catch (error) {
    // As many as there is room for is enough to know that there are more.
    if (error instanceof SizeLimitExceededError) return Array.from({ length: most }, () => ({ dn: "" }));
    throw error;
  }
}

/** Bytes that happen to be a text stay bytes. */
function sought(filter: string, attributes: string[]) {
  return { scope: "sub" as const, filter, attributes, explicitBufferAttributes: ["objectGUID"] };
}

function attributesOf(row: ProviderRow): string[] {
  const { subjectAttribute: subject, emailAttribute: email, nameAttribute: name } = row;
  return [...(subject ? [subject] : SUBJECTS), email ?? "mail", name ?? "cn", ...SWITCHES];
}

/** What says that an account is switched off: a bit of Active Directory's, a word of others. */
const SWITCHES = ["userAccountControl", "nsAccountLock"];

/** Whoever is switched off may not log in, and is gone when users are brought in line. @source Active Directory, ACCOUNTDISABLE */
function isSwitchedOff({ userAccountControl: bits, nsAccountLock: word }: Entry): boolean {
  return (Number(textsIn(bits)[0] ?? 0) & 2) !== 0 || textsIn(word)[0]?.toLowerCase() === "true";
}

async function vouchedBy(row: ProviderRow, client: Client, entry: Entry): Promise<Vouched> {
  const subject = subjectOf(row, entry);
  if (subject === null)
    throw new UpstreamError("upstream", `${row.name}: ${entry.dn} has nothing that it keeps for ever.`);
  const [email] = textsIn(entry[row.emailAttribute ?? "mail"]);
  const [name] = textsIn(entry[row.nameAttribute ?? "cn"]);
  return { subject, email: email ?? null, name: name ?? null, groups: await groupsOf(row, client, entry.dn) };
}

/** Ids of Active Directory are bytes. */
function subjectOf({ subjectAttribute }: ProviderRow, entry: Entry): string | null {
  for (const attribute of subjectAttribute ? [subjectAttribute] : SUBJECTS) {
    const value = [entry[attribute]].flat()[0];
    if (Buffer.isBuffer(value) && value.length > 0) return value.toString("hex");
    const [text] = textsIn(value);
    if (text !== undefined) return text;
  }
  return null;
}

async function groupsOf(row: ProviderRow, client: Client, dn: string): Promise<NamedGroup[] | null> {
  if (row.groupBase === null || row.groupBase === "") return null;
  const filter = filledFilter(row.groupFilter ?? GROUP_FILTER, { dn });
  const found = await entries(client, row.groupBase, filter, ["cn"], MOST_GROUPS);
  // More than are read: better those of the last time than none.
  if (found.some(({ dn: name }) => name === "")) return null;
  return found.map((entry) => ({ name: nameOf(entry), externalId: entry.dn }));
}

function nameOf(entry: Entry): string {
  return textsIn(entry.cn)[0] ?? entry.dn;
}

/** Everything that goes wrong with a directory, in words for people: its host and what it says, no password. */
function outageOf(row: ProviderRow, error: unknown): UpstreamError | TooManyRequests {
  if (error instanceof UpstreamError || error instanceof TooManyRequests) return error;
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
const MOST_COUNTED = 1_000;

const WAYS = { tls: "TLS", starttls: "STARTTLS", plain: "no encryption" } as const;

async function test(row: ProviderRow, needs: ProviderNeeds): Promise<ProviderCheck[]> {
  const checks: ProviderCheck[] = [];
  const way = row.url?.startsWith("ldaps:") ? "tls" : row.startTls ? "starttls" : "plain";
  const client = await tried(
    checks,
    "address",
    () => opened(row, needs),
    () => ({ code: `called-${way}`, value: row.url, words: `${row.url} may be called, with ${WAYS[way]}.` }),
  );
  if (!client) return checks;
  try {
    const isBound = await tried(
      checks,
      "bind",
      async () => {
        await bind(client, row, needs).catch((error: unknown) => {
          throw outageOf(row, error);
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
    await tried(checks, "users", () => counted(client, row, row.userBase ?? "", filter), peopleFound);
    const groups = (row.groupFilter ?? GROUP_FILTER).replaceAll("{dn}", "*");
    if (row.groupBase)
      await tried(checks, "groups", () => counted(client, row, row.groupBase ?? "", groups), groupsFound);
    return checks;
  } finally {
    await client.unbind().catch(() => undefined);
  }
}

async function counted(client: Client, row: ProviderRow, base: string, filter: string): Promise<number> {
  try {
    return (await entries(client, base, filter, ["1.1"], MOST_COUNTED)).length;
  } catch (error) {
    throw outageOf(row, error);
  }
}

const atLeast = (n: number): string => (n >= MOST_COUNTED ? `≥ ${n}` : String(n));

function peopleFound(n: number): Finding {
  return n === 0
    ? { code: "no-people", words: "Nobody is found: look at userBase and userFilter." }
    : { code: "people", value: atLeast(n), words: `People who can log in: ${atLeast(n)}.` };
}

function groupsFound(n: number): Finding {
  return n === 0
    ? { code: "no-groups", words: "No group is found: look at groupBase and groupFilter." }
    : { code: "groups", value: atLeast(n), words: `Groups that are found: ${atLeast(n)}.` };
}
