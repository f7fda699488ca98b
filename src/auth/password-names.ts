import domains from "../resources/domains/domains.ts";
import type users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { StoreReader } from "../store/store.ts";
import { readBranding } from "./branding.ts";

/** Names that a password must not contain: those of the account, and those of its organisation. */
export interface PasswordNames {
  account: readonly string[];
  organisation: readonly string[];
}

/** What is known of an account whose password is set. */
export type PasswordHolder = Partial<
  Pick<RowOf<typeof users>, "name" | "email" | "scimUserName" | "preferredName" | "domainId" | "alsoIn">
>;

/** Shorter names occur in many words by chance: they count only where no letter precedes or follows. */
const MIN_LENGTH_ANYWHERE = 5;
const MIN_LENGTH = 3;

/** Words of organisations' names that say nothing about the organisation. */
const GENERIC_WORDS: ReadonlySet<string> = new Set(
  (
    "academy akademie association behörde berufsschule campus center centre city clinic college community company county " +
    "department district education elementary firma förderschule foundation gemeinde gesamtschule group gruppe grundschule " +
    "gymnasium hauptschule health high hochschule hospital hotel institut institute international kindergarten klinik kreis " +
    "krankenhaus landkreis middle national office organisation organization primary public realschule regional school schools " +
    "schule schulen schulzentrum secondary service services stadt state system technical town university universität verein " +
    "zentrum the und and für der die das von for"
  ).split(" "),
);

/** Spellings of a letter in a password, besides its capital. */
const SPELLINGS: Readonly<Record<string, string>> = {
  ...{ a: "a4@", b: "b8", e: "e3€", g: "g9", i: "i1!|", l: "l1!|", o: "o0", s: "s5$", t: "t7+", z: "z2" },
};

const PRODUCT_NAME = "Carillon";

/** The names of an account and its organisation; `reader` is null before there is an organisation. */
export function readPasswordNames(reader: StoreReader | null, holder: PasswordHolder): PasswordNames {
  const { name, email, scimUserName, preferredName, domainId, alsoIn } = holder;
  const [localPart, host = ""] = email?.split("@") ?? [];
  const hostLabels = host.split(".").slice(0, -1).join(" ");
  const logIn = scimUserName?.split("@")[0];
  const domainIds = domainId ? [domainId, ...(alsoIn ?? [])] : [];
  const rows = reader
    ? [reader.find(domains, { parentId: null }, 1)[0], ...domainIds.map((id) => reader.get(domains, id))]
    : [];
  const company = reader && readBranding(reader).companyName;
  return {
    account: [name, preferredName, localPart, logIn].filter(isText),
    organisation: [PRODUCT_NAME, company, hostLabels, ...rows.map((row) => row?.name)].filter(isText),
  };
}

/** The words of the names, for an estimate that counts each as known. */
export function wordsOfNames({ account, organisation }: PasswordNames): string[] {
  return [...new Set([...account, ...organisation].flatMap((name) => [...wordsOf(name), wordsOf(name).join("")]))];
}

/** The first name that the password contains, also in other letter case, without accents or with digits for letters. */
export function findContainedName(
  password: string,
  names: PasswordNames,
): { name: string; of: keyof PasswordNames } | null {
  const text = fold(password);
  for (const kind of ["account", "organisation"] as const) {
    for (const name of names[kind].flatMap(germanSpellings)) {
      const words = wordsOf(name).filter((word) => kind === "account" || !GENERIC_WORDS.has(word));
      const found = [words, ...words.map((word) => [word])].find((some) => matcherOf(some)?.test(text));
      if (found) return { name: found.join(" "), of: kind };
    }
  }
  return null;
}

/** Matches the words one after another; null for names too short to count. */
function matcherOf(words: readonly string[]): RegExp | null {
  const length = words.join("").length;
  if (length < MIN_LENGTH) return null;
  const pattern = words.map((word) => [...word].map(spellingsOf).join("")).join("[^\\p{L}\\p{N}]*");
  return new RegExp(length < MIN_LENGTH_ANYWHERE ? `(?<!\\p{L})${pattern}(?!\\p{L})` : pattern, "u");
}

/** A character class of the spellings; `letter` is a letter or digit. */
function spellingsOf(letter: string): string {
  return `[${SPELLINGS[letter] ?? letter}]`;
}

/** The name, and as it is written without umlauts: `Müller`, `Mueller`. */
function germanSpellings(name: string): string[] {
  const written = name
    .normalize("NFC")
    .replace(/[äöü]/gi, (letter) => `${letter}e`)
    .replaceAll("ß", "ss");
  return written === name ? [name] : [name, written];
}

/** Words of at least two letters or digits; numbers are none. */
function wordsOf(name: string): string[] {
  return [...new Set(fold(name).match(/[\p{L}\p{N}]{2,}/gu) ?? [])].filter((word) => /\p{L}/u.test(word));
}

/** Compatibility forms, letter case and accents do not make another password. @source NIST SP 800-63B §3.1.1.2 */
function fold(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().normalize("NFKC");
}

function isText(value: string | null | undefined): value is string {
  return typeof value === "string" && value !== "";
}
