/** Before every test file; what it imports runs once in each process, which files share. */
import "./answer-check.ts";
