// Styles of what forms are made of; not part of the first page.
import "@mantine/core/styles/Popover.css";
import "@mantine/core/styles/Combobox.css";
import "@mantine/core/styles/Pill.css";
import "@mantine/core/styles/PillsInput.css";
import "@mantine/core/styles/PasswordInput.css";
import "@mantine/core/styles/NumberInput.css";
import "@mantine/core/styles/Switch.css";
import "@mantine/core/styles/Checkbox.css";
