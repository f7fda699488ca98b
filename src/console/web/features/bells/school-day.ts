import { formatSecondOfDay, secondOfDay } from "../../../../bells/local-time.ts";

/** What an ordinary school day is made of. */
export interface SchoolDay {
  /** Of the first lesson, `HH:mm:ss`. */
  begins: string;
  lessons: number;
  lessonMinutes: number;
  breakMinutes: number;
}

/** Typical school day as the initial values. */
export const ORDINARY_DAY: SchoolDay = { begins: "08:00:00", lessons: 6, lessonMinutes: 45, breakMinutes: 10 };

const DAY_S = 86_400;

/** Times of its rings, one at the beginning and one at the end of each lesson, as long as the day lasts; none twice. */
export function ringsOfDay({ begins, lessons, lessonMinutes, breakMinutes }: SchoolDay): string[] {
  if (begins === "") return [];
  const times = new Set<number>();
  const step = (lessonMinutes + breakMinutes) * 60;
  for (let lesson = 0; lesson < lessons; lesson += 1) {
    const start = secondOfDay(begins) + lesson * step;
    times.add(start).add(start + lessonMinutes * 60);
  }
  return [...times].filter((second) => second < DAY_S).map(formatSecondOfDay);
}
