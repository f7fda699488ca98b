import { useId } from "react";

interface SegmentedChoiceProps<V extends string> {
  label: string;
  value: V;
  choices: readonly { value: V; label: string }[];
  onChange(value: V): void;
}

/** A choice between a few options side by side; native radio buttons, so arrow keys work. */
export function SegmentedChoice<V extends string>({ label, value, choices, onChange }: SegmentedChoiceProps<V>) {
  const name = useId();
  return (
    <fieldset className="choice" aria-label={label}>
      {choices.map((choice) => (
        <label key={choice.value}>
          <input type="radio" name={name} checked={choice.value === value} onChange={() => onChange(choice.value)} />
          {choice.label}
        </label>
      ))}
    </fieldset>
  );
}
