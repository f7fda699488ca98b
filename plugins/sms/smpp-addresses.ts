/** Types of numbers and numbering plans; null: by the form of the number. */
export interface AddressRules {
  sender: string | null;
  senderTon: number | null;
  senderNpi: number | null;
  recipientTon: number | null;
  recipientNpi: number | null;
}

interface NumberType {
  ton: number;
  npi: number;
}

/** Type of number and numbering plan. @source SMPP 3.4 §5.2.5, §5.2.6 */
const INTERNATIONAL: NumberType = { ton: 1, npi: 1 };
const NATIONAL: NumberType = { ton: 2, npi: 1 };
const NETWORK_SPECIFIC: NumberType = { ton: 3, npi: 0 };
const ALPHANUMERIC: NumberType = { ton: 5, npi: 0 };
const UNKNOWN: NumberType = { ton: 0, npi: 1 };

/** Longest short code. */
const SHORT_CODE_DIGITS = 8;

/** Members of submit_sm with the addresses of a message. */
export function addressFields(to: string, rules: AddressRules): Record<string, unknown> {
  const { sender } = rules;
  const source = sender === null ? UNKNOWN : isDigits(sender) ? numberType(sender) : ALPHANUMERIC;
  const target = to.startsWith("+") ? INTERNATIONAL : UNKNOWN;
  return {
    source_addr_ton: rules.senderTon ?? source.ton,
    source_addr_npi: rules.senderNpi ?? source.npi,
    source_addr: (sender ?? "").replace(/^\+(?=\d+$)/, ""),
    dest_addr_ton: rules.recipientTon ?? target.ton,
    dest_addr_npi: rules.recipientNpi ?? target.npi,
    destination_addr: to.replace(/^\+/, ""),
  };
}

/** A number with a plus is international, a short one a short code, and one with a leading zero national. */
function numberType(number: string): NumberType {
  if (number.startsWith("+")) return INTERNATIONAL;
  if (number.length <= SHORT_CODE_DIGITS) return NETWORK_SPECIFIC;
  return number.startsWith("0") ? NATIONAL : INTERNATIONAL;
}

function isDigits(sender: string): boolean {
  return /^\+?\d+$/.test(sender);
}
