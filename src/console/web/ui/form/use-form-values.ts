import { type Dispatch, type SetStateAction, useEffect, useRef, useState } from "react";
import { useConsole } from "../../console-context.tsx";
import { type DraftPlace, readDraft, removeDraft, storeDraft } from "./form-drafts.ts";
import { changedValues, conflictsAfter, type EditConflicts, type FormValues, mergedValues } from "./form-fields.ts";

interface FormState {
  /** The row as it is now, with what a new one begins with. */
  start: FormValues;
  pending: boolean;
  error: unknown;
  draft: DraftPlace | undefined;
}

interface FormValuesState {
  values: FormValues;
  setValues: Dispatch<SetStateAction<FormValues>>;
  conflicts: EditConflicts;
  /** When the restored input was typed, in epoch ms; null if nothing was restored. */
  restoredAt: number | null;
  dirty: boolean;
  /** Called with what is sent to be saved. */
  submit(changed: FormValues): void;
  /** Ends a conflict in favour of one side. */
  settle(name: string, side: "mine" | "theirs"): void;
  /** Back to the row as it is. */
  discard(): void;
}

/** Input of a form: merged with what others change while it is open, and kept in the browser until it is saved. */
export function useFormValues({ start, pending, error, draft }: FormState): FormValuesState {
  const { clock } = useConsole();
  const [restored] = useState(() => (draft ? readDraft(sessionStorage, draft, clock.now()) : null));
  const [values, setValues] = useState<FormValues>({ ...start, ...restored?.values });
  /** The row as the values were last merged with it. */
  const [known, setKnown] = useState<FormValues>({ ...start, ...restored?.before });
  const [conflicts, setConflicts] = useState<EditConflicts>(new Map());
  const [sent, setSent] = useState<{ changed: FormValues; isUnderWay: boolean } | null>(null);
  if (sent && pending && !sent.isUnderWay) setSent({ ...sent, isUnderWay: true });
  const isOver = sent?.isUnderWay === true && !pending;
  if (isOver && error) setSent(null);
  if (!pending && JSON.stringify(known) !== JSON.stringify(start)) {
    // A saved value is no longer input: the API may have stored it in another form.
    const base = isOver && !error ? { ...known, ...sent.changed } : known;
    setSent(null);
    setKnown(start);
    setValues(mergedValues(values, base, start));
    setConflicts(conflictsAfter(conflicts, values, base, start));
  }
  const changed = changedValues(start, values);
  // Saved, but not read again yet.
  const isSaved = isOver && !error && JSON.stringify(changed) === JSON.stringify(sent.changed);
  const dirty = !isSaved && Object.keys(changed).length > 0;
  const kept = useRef({ draft, start, clock });
  kept.current = { draft, start, clock };
  useEffect(() => {
    const { draft: place, start: before, clock: now } = kept.current;
    if (!place) return;
    const typed = changedValues(before, values);
    const old = Object.fromEntries(Object.keys(typed).map((name) => [name, before[name] ?? null]));
    if (Object.keys(typed).length === 0) removeDraft(sessionStorage, place.key);
    else storeDraft(sessionStorage, place, { savedAt: now.now(), before: old, values: typed });
  }, [values]);
  return {
    values,
    setValues,
    conflicts,
    restoredAt: restored?.savedAt ?? null,
    dirty,
    submit: (next) => setSent({ changed: next, isUnderWay: false }),
    settle(name, side) {
      if (side === "theirs") setValues((old) => ({ ...old, [name]: conflicts.get(name) }));
      setConflicts(new Map([...conflicts].filter(([each]) => each !== name)));
    },
    discard() {
      if (draft) removeDraft(sessionStorage, draft.key);
      setValues(start);
      setConflicts(new Map());
    },
  };
}
