import { TextInput } from "@mantine/core";

interface TimeFieldProps {
  label: string;
  /** `HH:mm:ss`; "" for none. */
  value: string;
  error?: string | null;
  description?: string;
  required?: boolean;
  autoFocus?: boolean;
  onChange(time: string): void;
}

/** A time of day; browsers write seconds only where there are any. */
export function TimeField({ value, onChange, autoFocus, ...shown }: TimeFieldProps) {
  return (
    <TextInput
      {...shown}
      type="time"
      step={1}
      value={value}
      {...(autoFocus ? { "data-autofocus": true } : {})}
      onChange={(event) => {
        const time = event.currentTarget.value;
        onChange(time.length === 5 ? `${time}:00` : time);
      }}
    />
  );
}
