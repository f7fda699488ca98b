import { ZxcvbnFactory, type ZxcvbnResult } from "@zxcvbn-ts/core";
import * as common from "@zxcvbn-ts/language-common";
import * as german from "@zxcvbn-ts/language-de";
import * as english from "@zxcvbn-ts/language-en";

/** Every dictionary is searched for each part of a password, so there are few. */
const DICTIONARIES = {
  passwords: common.dictionary["passwords-common"],
  names: mergeByRank([
    english.dictionary["firstnames-en"],
    english.dictionary["lastnames-en"],
    german.dictionary.firstnames,
    german.dictionary.lastnames,
  ]),
  words: mergeByRank([
    english.dictionary["commonWords-en"],
    english.dictionary["wikipedia-en"],
    english.dictionary["daysOfWeek-en"],
    english.dictionary["months-en"],
    english.dictionary["seasons-en"],
    german.dictionary.commonWords,
    german.dictionary.wikipedia,
    common.dictionary["diceware-common"],
  ]),
};

/** What makes a password easy to guess. */
export type PasswordPattern =
  | "common-password"
  | "word"
  | "name"
  | "own-name"
  | "keyboard"
  | "repeat"
  | "sequence"
  | "date"
  | "year";

/** Question to the password worker; `names` are those of the account and its organisation. */
export interface PasswordStrengthRequest {
  password: string;
  names: readonly string[];
}

/** Estimate of the guesses that a cracking program needs; `patterns` says why they are few. */
export interface PasswordStrength {
  guessesLog10: number;
  patterns: PasswordPattern[];
}

/** Only the beginning of a longer password is estimated: it is strong enough by then, or too uniform. */
const MAX_ESTIMATED_LENGTH = 64;
/** Ways of reading digits and signs as letters that are tried for each password. */
const MAX_SUBSTITUTIONS = 10;

/**
 * Creates the estimator. Loading the dictionaries takes half a second and the estimate of a hostile password as long,
 * so that it runs in a worker thread.
 */
export function createStrengthEstimator(): (question: PasswordStrengthRequest) => PasswordStrength {
  const estimator = new ZxcvbnFactory({
    dictionary: DICTIONARIES,
    graphs: common.adjacencyGraphs,
    maxLength: MAX_ESTIMATED_LENGTH,
    l33tMaxSubstitutions: MAX_SUBSTITUTIONS,
  });
  return ({ password, names }) => {
    const texts = new Set([password, withoutSpacing(password)]);
    const results = [...texts].map((text) => estimator.check(text, [...names]));
    const weakest = results.reduce((least, each) => (each.guessesLog10 < least.guessesLog10 ? each : least));
    return { guessesLog10: weakest.guessesLog10, patterns: patternsOf(weakest.sequence) };
  };
}

/** `p-a-s-s-w-o-r-d` as `password`. */
function withoutSpacing(text: string): string {
  const separator = /^[^\s\p{P}]([\s\p{P}])[^\s\p{P}]\1/u.exec(text)?.[1];
  return separator === undefined ? text : text.replaceAll(separator, "");
}

function patternsOf(sequence: ZxcvbnResult["sequence"]): PasswordPattern[] {
  return [...new Set(sequence.flatMap(patternOf))];
}

function patternOf(match: ZxcvbnResult["sequence"][number]): PasswordPattern[] {
  const { pattern } = match;
  if (pattern === "dictionary") return [patternOfDictionary(String(match.dictionaryName))];
  if (pattern === "spatial") return ["keyboard"];
  if (pattern === "repeat") return ["repeat"];
  if (pattern === "sequence" || pattern === "wordSequence") return ["sequence"];
  if (pattern === "date") return ["date"];
  if (pattern === "regex") return ["year"];
  return [];
}

function patternOfDictionary(dictionary: string): PasswordPattern {
  if (dictionary === "userInputs") return "own-name";
  if (dictionary === "passwords") return "common-password";
  return dictionary === "names" ? "name" : "word";
}

/** One list of several, the most frequent entries of each first. */
function mergeByRank(lists: readonly (readonly (string | number)[])[]): (string | number)[] {
  const longest = Math.max(...lists.map((list) => list.length));
  const merged = new Set<string | number>();
  for (let rank = 0; rank < longest; rank++) {
    for (const list of lists) {
      const word = list[rank];
      if (word !== undefined) merged.add(word);
    }
  }
  return [...merged];
}
