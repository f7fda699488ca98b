import { randomUUID } from "node:crypto";
import { isIP, connect as plainConnect } from "node:net";
import { type ConnectionOptions, connect as secureConnect } from "node:tls";
import type { Client, Entry } from "ldapts";
import { createAttemptThrottle } from "../auth/attempt-throttle.ts";
import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import { TooManyRequestsError, UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { ResolvedAddress } from "../lib/ssrf-guard.ts";
import {
  domainOf,
  implicitAccountName,
  isDefaultPrimaryGroup,
  PRIMARY_GROUP_ATTRIBUTES,
  primaryGroupSid,
  readSid,
} from "./active-directory.ts";
import { readClaimTexts } from "./claim-values.ts";
import { ACCOUNT_ATTRIBUTES, isClosedAccount, isComputer, withoutDomain } from "./directory-accounts.ts";
import {
  type ExternalIdentity,
  type Provider,
  type ProviderCheck,
  type ProviderDeps,
  type ProviderFinding,
  type ProviderGroup,
  runCheck,
} from "./provider.ts";

/** Timeout of connecting and of each request. */
const TIMEOUT_MS = 10_000;
/** Entries per search page; common directories allow 1,000. */
const PAGE_SIZE = 500;
/** Maximum number of groups read per user. */
const MAX_GROUPS = 1_000;

/** Login throttle per directory entry and client: a directory accepts many spellings of one user. */
const THROTTLE_POLICY = { freeAttempts: 5, initialDelayMs: 1_000, maxDelayMs: 30_000 };

const USER_FILTER = "(|(mail={login})(uid={login})(sAMAccountName={login})(userPrincipalName={login}))";
/** Of an account whose login name is its name in the domain, which the directory does not store. */
const ACCOUNT_NAME_FILTER = "(sAMAccountName={login})";
const GROUP_FILTER = "(member={dn})";
/** Includes groups in groups. @source Active Directory, LDAP_MATCHING_RULE_IN_CHAIN */
const NESTED_GROUP_FILTER = "(member:1.2.840.113556.1.4.1941:={dn})";
/**
 * Immutable id attributes; the first one that an entry has is its subject.
 * @source RFC 4530; Active Directory, objectGUID
 */
const SUBJECT_ATTRIBUTES = ["entryUUID", "objectGUID"];
/** The same of groups, which keep it when they are renamed or moved; also those of FreeIPA and 389 Directory Server. */
const GROUP_ID_ATTRIBUTES = [...SUBJECT_ATTRIBUTES, "ipaUniqueID", "nsUniqueId"];

/** Fills placeholders of a filter with escaped values. @source RFC 4515 §3 */
function fillFilter(filter: string, values: Readonly<Record<string, string>>): string {
  const escaped = (value: string): string =>
    value.replace(/[\0()*\\]/g, (character) => `\\${character.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return filter.replace(/\{(\w+)\}/g, (placeholder, name: string) =>
    values[name] === undefined ? placeholder : escaped(values[name]),
  );
}

/**
 * Directory provider (LDAP 3, Active Directory): a login searches the user, then binds as the entry found. Groups are
 * those that list the user as a member.
 * @source RFC 4511, RFC 4513 §5.1.2 (an empty password binds anonymously and is never sent)
 */
export function createLdapProvider(row: IdentityProviderRow, deps: ProviderDeps): Provider {
  const { userFilter } = row;
  const attempts = createAttemptThrottle(deps.clock, THROTTLE_POLICY);
  const find = async (client: Client, login: string): Promise<Entry[]> => {
    const search = async (filter: string, name: string): Promise<Entry[]> => {
      const filled = fillFilter(filter, { login: name });
      const found = await searchDirectory(client, row.userBase ?? "", filled, requestedAttributes(row), 2);
      return found.filter((entry) => !isComputer(entry));
    };
    const found = await search(userFilter ?? USER_FILTER, withoutDomain(login));
    const account = userFilter || found.length > 0 ? null : implicitAccountName(login);
    if (account === null) return found;
    return (await search(ACCOUNT_NAME_FILTER, account.name)).filter((entry) => domainOf(entry) === account.domain);
  };
  return {
    test: () => test(row, deps),
    password: {
      async verify({ login, password, from }) {
        if (password === "" || login.trim() === "") return null;
        return withClient(row, deps, async (client) => {
          const [entry, other] = await find(client, login.trim());
          // Ambiguous logins are refused. Binding a random DN takes as long as a wrong password.
          if (!entry || other || isClosedAccount(entry, deps.clock.now())) {
            await verifyPassword(row, deps, `cn=${randomUUID()},${row.userBase}`, password).catch(() => false);
            return null;
          }
          const key = `${entry.dn.toLowerCase()} ${from}`;
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
    // `*` matches any login.
    const filter = (row.userFilter ?? USER_FILTER).replaceAll("{login}", "*");
    const options = { ...searchOptions(filter, requestedAttributes(row)), paged: { pageSize: PAGE_SIZE } } as const;
    for await (const { searchEntries } of client.searchPaginated(row.userBase ?? "", options)) {
      for (const entry of searchEntries) {
        const subject = readSubject(row, entry);
        if (subject === null || !subjects.has(subject) || isClosedAccount(entry, deps.clock.now())) continue;
        yield await readIdentity(row, client, entry);
      }
    }
  } catch (error) {
    throw toUpstreamError(row, error);
  } finally {
    await client.unbind().catch(() => undefined);
  }
}

/** Runs `work` with a bound connection. Throws UpstreamError. */
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

/** Verifies a password by binding as the entry, on a separate connection. */
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

/** Connects to the resolved address that the SSRF guard allows, with TLS as configured. Throws UpstreamError. */
async function connect(row: IdentityProviderRow, { policy }: ProviderDeps): Promise<Client> {
  const { Client } = await import("ldapts");
  if (!row.url)
    throw new UpstreamError(
      "upstream",
      sentence("login.the-identity-provider-name-must-have-a-url", { name: row.name }),
      { provider: row.id },
    );
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

/** Pins the checked address: a second DNS lookup could return another one. */
function pinnedAddress(host: string, { address, family }: ResolvedAddress): Pick<ConnectionOptions, "host" | "lookup"> {
  return {
    host,
    lookup: (_host, { all }, done) => (all ? done(null, [{ address, family }]) : done(null, address, family)),
  };
}

function tlsOptions({ caCertificates: ca }: IdentityProviderRow, host: string): ConnectionOptions {
  return { ...(ca ? { ca } : {}), host, ...(isIP(host) === 0 ? { servername: host } : {}) };
}

/** Reads in pages; stops after more than `max` entries. Throws ldapts' SizeLimitExceededError when the directory cuts off. */
async function searchDirectory(
  client: Client,
  base: string,
  filter: string,
  attributes: string[],
  max: number,
): Promise<Entry[]> {
  const found: Entry[] = [];
  const paged = { pageSize: Math.min(PAGE_SIZE, max) };
  for await (const { searchEntries } of client.searchPaginated(base, { ...searchOptions(filter, attributes), paged })) {
    found.push(...searchEntries);
    if (found.length > max) break;
  }
  return found;
}

/** These stay binary even if their bytes are valid text. */
function searchOptions(filter: string, attributes: string[]) {
  return { scope: "sub" as const, filter, attributes, explicitBufferAttributes: ["objectGUID", "objectSid"] };
}

function requestedAttributes(row: IdentityProviderRow): string[] {
  const { subjectAttribute: subject, emailAttribute: email, nameAttribute: name } = row;
  const person = [...(subject ? [subject] : SUBJECT_ATTRIBUTES), email ?? "mail", name ?? "cn"];
  return [...person, ...ACCOUNT_ATTRIBUTES, ...PRIMARY_GROUP_ATTRIBUTES];
}

async function readIdentity(row: IdentityProviderRow, client: Client, entry: Entry): Promise<ExternalIdentity> {
  const subject = readSubject(row, entry);
  if (subject === null)
    throw new UpstreamError(
      "upstream",
      sentence("login.name-entry-must-have-one-of-the-attributes-attributes", {
        name: row.name,
        entry: entry.dn,
        attributes: row.subjectAttribute ?? SUBJECT_ATTRIBUTES.join(", "),
      }),
    );
  const [email] = readClaimTexts(entry[row.emailAttribute ?? "mail"]);
  const [name] = readClaimTexts(entry[row.nameAttribute ?? "cn"]);
  return { subject, email: email ?? null, name: name ?? null, groups: await readGroups(row, client, entry) };
}

/** Active Directory ids are binary; they are encoded as hex. */
function readSubject({ subjectAttribute }: IdentityProviderRow, entry: Entry): string | null {
  return readFirst(subjectAttribute ? [subjectAttribute] : SUBJECT_ATTRIBUTES, entry);
}

function readFirst(attributes: readonly string[], entry: Entry): string | null {
  for (const attribute of attributes) {
    const value = [entry[attribute]].flat()[0];
    if (Buffer.isBuffer(value) && value.length > 0) return value.toString("hex");
    const [text] = readClaimTexts(value);
    if (text !== undefined) return text;
  }
  return null;
}

async function readGroups(row: IdentityProviderRow, client: Client, entry: Entry): Promise<ProviderGroup[] | null> {
  if (row.groupBase === null || row.groupBase === "") return null;
  const byDefault = readFirst(["objectGUID"], entry) === null ? GROUP_FILTER : NESTED_GROUP_FILTER;
  const filter = fillFilter(row.groupFilter ?? byDefault, { dn: entry.dn });
  const sid = row.groupFilter ? null : primaryGroupSid(entry);
  const found = await searchGroups(client, row.groupBase, sid === null ? filter : `(|${filter}(objectSid=${sid}))`);
  const primary = found?.find((group) => readSid(group) === sid);
  const around =
    primary && !isDefaultPrimaryGroup(sid)
      ? await searchGroups(client, row.groupBase, fillFilter(NESTED_GROUP_FILTER, { dn: primary.dn }))
      : [];
  // Not all are known: the current groups stay.
  if (found === null || around === null) return null;
  const groups = new Map([...found, ...around].map((group) => [group.dn, group]));
  return [...groups.values()].map((group) => {
    const id = readFirst(GROUP_ID_ATTRIBUTES, group);
    return { name: readGroupName(group), externalId: id ?? group.dn, ...(id === null ? {} : { formerId: group.dn }) };
  });
}

/** Null if there are more than the directory or this appliance allows. */
async function searchGroups(client: Client, base: string, filter: string): Promise<Entry[] | null> {
  const { SizeLimitExceededError } = await import("ldapts");
  try {
    const attributes = ["cn", "objectSid", ...GROUP_ID_ATTRIBUTES];
    const found = await searchDirectory(client, base, filter, attributes, MAX_GROUPS);
    return found.length > MAX_GROUPS ? null : found;
  } catch (error) {
    if (error instanceof SizeLimitExceededError) return null;
    throw error;
  }
}

function readGroupName(entry: Entry): string {
  return readClaimTexts(entry.cn)[0] ?? entry.dn;
}

/** The reason that a directory gives is cut to this length. */
const MAX_REASON_LENGTH = 400;

/** Converts errors of the directory to UpstreamError, without passwords. */
function toUpstreamError(row: IdentityProviderRow, error: unknown): UpstreamError | TooManyRequestsError {
  if (error instanceof UpstreamError || error instanceof TooManyRequestsError) return error;
  const reason =
    error instanceof Error ? `${error.name === "Error" ? "" : `${error.name}: `}${error.message}` : String(error);
  const code = isAnswer(error) ? "login.directory-error" : "login.name-cannot-be-reached-reason";
  return new UpstreamError(
    "upstream",
    sentence(code, { name: row.name, reason: reason.slice(0, MAX_REASON_LENGTH) }),
    { provider: row.id },
    error,
  );
}

/** A result of the directory has a number as its code. @source RFC 4511 §4.1.9 */
function isAnswer(error: unknown): boolean {
  return typeof (error as { code?: unknown } | null)?.code === "number";
}

/** A test counts users and groups up to this number. */
const MAX_COUNTED = 1_000;

const CONNECTED = {
  tls: "provider-test.address-tls",
  starttls: "provider-test.address-starttls",
  plain: "provider-test.address-plain",
} as const;

async function test(row: IdentityProviderRow, deps: ProviderDeps): Promise<ProviderCheck[]> {
  const checks: ProviderCheck[] = [];
  const encryption = row.url?.startsWith("ldaps:") ? "tls" : row.startTls ? "starttls" : "plain";
  const client = await runCheck(
    checks,
    "address",
    () => connectAndAsk(row, deps),
    () => ({
      code: `called-${encryption}`,
      value: row.url,
      words: sentence(CONNECTED[encryption], { url: row.url ?? "" }),
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
          ? { code: "may-search", value: row.bindDn, words: sentence("provider-test.bound", { name: row.bindDn }) }
          : { code: "searched-as-nobody", words: sentence("provider-test.anonymous") },
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

/** Connects and waits for an answer: the library itself connects with the first request. Throws UpstreamError. */
async function connectAndAsk(row: IdentityProviderRow, deps: ProviderDeps): Promise<Client> {
  const client = await connect(row, deps);
  try {
    await client.search("", { scope: "base", attributes: ["supportedLDAPVersion"] }).catch((error: unknown) => {
      // Not all show it to everybody; a refusal is an answer.
      if (!isAnswer(error)) throw error;
    });
    return client;
  } catch (error) {
    await client.unbind().catch(() => undefined);
    throw toUpstreamError(row, error);
  }
}

async function countEntries(client: Client, row: IdentityProviderRow, base: string, filter: string): Promise<number> {
  const { SizeLimitExceededError } = await import("ldapts");
  try {
    const found = await searchDirectory(client, base, filter, ["objectClass"], MAX_COUNTED);
    return found.filter((entry) => !isComputer(entry)).length;
  } catch (error) {
    if (!(error instanceof SizeLimitExceededError)) throw toUpstreamError(row, error);
    const message = row.bindDn
      ? sentence("login.size-limit-of-user", { user: row.bindDn })
      : sentence("login.size-limit-of-anonymous");
    throw new UpstreamError("upstream", message, { provider: row.id });
  }
}

/** The last page may have more entries than are counted. */
const atLeast = (n: number): string => (n >= MAX_COUNTED ? `≥ ${MAX_COUNTED}` : String(n));

function peopleFinding(n: number): ProviderFinding {
  return n === 0
    ? { code: "no-people", words: sentence("provider-test.no-users") }
    : { code: "people", value: atLeast(n), words: sentence("provider-test.users", { number: atLeast(n) }) };
}

function groupCountFinding(n: number): ProviderFinding {
  return n === 0
    ? { code: "no-groups", words: sentence("provider-test.no-groups") }
    : { code: "groups", value: atLeast(n), words: sentence("provider-test.groups", { number: atLeast(n) }) };
}
