import { Select } from "@mantine/core";
import type { DomainRow } from "../../api/security-rows.ts";
import { useRows } from "../../api/use-rows.ts";
import "../../ui/input-styles.ts";

/** All domains that one sees, by their paths; an organisation has 200 at most. */
export function useDomains(): readonly DomainRow[] {
  return useRows<DomainRow>("domains", {}, { limit: 1_000, sort: "namePath" }).data?.data ?? [];
}

interface DomainSelectProps {
  label: string;
  /** What none means. */
  placeholder: string;
  value: string | null;
  onChange(domainId: string | null): void;
}

/** One domain or none; nothing where there is but one, since nothing is to be chosen. */
export function DomainSelect({ label, placeholder, value, onChange }: DomainSelectProps) {
  const domains = useDomains();
  if (domains.length < 2) return null;
  return (
    <Select
      label={label}
      placeholder={placeholder}
      clearable
      searchable
      data={domains.map(({ id, namePath, name }) => ({ value: id, label: namePath ?? name }))}
      value={value}
      onChange={onChange}
    />
  );
}
