import type { HandbookPage, HandbookSection } from "./handbook-page.ts";

/** A section that contains all words of a query. */
export interface HandbookHit {
  page: HandbookPage;
  section: HandbookSection;
  /** Text around the first match. Odd parts are matches. */
  excerpt: readonly string[];
}

/** Longest query; the rest is cut off. */
export const MAX_QUERY_LENGTH = 100;
const MAX_WORDS = 8;
const MAX_HITS = 30;
const EXCERPT_LENGTH = 240;
const EXCERPT_LEAD = 60;
/** A match in a heading counts as much as this number of matches in the text, one in the page title half of it. */
const HEADING_SCORE = 10;
const MAX_TEXT_SCORE = 5;

/** Sections that contain all words of the query, ignoring case; best first, at most 30. */
export function searchHandbook(pages: readonly HandbookPage[], query: string): HandbookHit[] {
  const words = query.slice(0, MAX_QUERY_LENGTH).toLowerCase().split(/\s+/).filter(Boolean).slice(0, MAX_WORDS);
  if (words.length === 0) return [];
  const found = pages.flatMap((page) =>
    page.sections.flatMap((section) => {
      const score = scoreOf(page, section, words);
      return score === 0 ? [] : [{ page, section, score }];
    }),
  );
  return found
    .sort((one, other) => other.score - one.score || one.page.order - other.page.order)
    .slice(0, MAX_HITS)
    .map(({ page, section }) => ({ page, section, excerpt: excerptOf(section.text, words) }));
}

/** 0 unless all words occur, and at least one of them in the section itself. */
function scoreOf(page: HandbookPage, section: HandbookSection, words: readonly string[]): number {
  const [title, heading, text] = [page.title, section.heading, section.text].map((each) => each.toLowerCase());
  let [score, ownScore] = [0, 0];
  for (const word of words) {
    const own =
      (heading?.includes(word) ? HEADING_SCORE : 0) + Math.min((text?.split(word).length ?? 1) - 1, MAX_TEXT_SCORE);
    const ofTitle = title?.includes(word) ? HEADING_SCORE / 2 : 0;
    if (own + ofTitle === 0) return 0;
    ownScore += own;
    score += own + ofTitle;
  }
  return ownScore === 0 ? 0 : score;
}

function excerptOf(text: string, words: readonly string[]): string[] {
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|")})`, "gi");
  const start = Math.max(0, text.search(pattern) - EXCERPT_LEAD);
  // Whole words only.
  const from = start === 0 ? 0 : text.indexOf(" ", start) + 1;
  const end = from + EXCERPT_LENGTH;
  const cut =
    text.length <= end ? text.slice(from) : `${text.slice(from, Math.max(text.lastIndexOf(" ", end), from))} …`;
  return `${from === 0 ? "" : "… "}${cut}`.split(pattern);
}
