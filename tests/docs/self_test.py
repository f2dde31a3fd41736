"""The checks of the documentation find what is wrong: each on a page that is wrong in one way."""

import os
import tempfile
import unittest

import console
import extension
import figures
import pages
import references


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, text, name="page.md"):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        pages.write(path, text)
        return path

    def test_a_block_belongs_to_the_last_file_of_its_paragraph(self):
        page = self.write("Not `a.h`.\n\nIn `x/b.cpp`, beside `c.h`\nand more:\n\n```cpp\nint x;\n```\n")
        (block,) = pages.blocks(page)
        self.assertEqual((block.language, block.text, block.file, block.line), ("cpp", "int x;\n", "c.h", 6))

    def test_an_indented_block_loses_its_indentation(self):
        (block,) = pages.blocks(self.write("1. x\n\n   ```console\n   $ a\n     b\n   ```\n"))
        self.assertEqual(block.text, "$ a\n  b\n")

    def test_anchors_are_those_of_code_hosts(self):
        page = self.write("# How many, at 2/s?\n## `cluster.gpu`\n## Same\n## Same\n```\n# no heading\n```\n")
        self.assertEqual(list(pages.anchors(page)), ["how-many-at-2s", "clustergpu", "same", "same-1"])


class Output(unittest.TestCase):
    def test_what_is_shown_was_printed_in_this_order(self):
        printed = ["head", "a 1", "b 2", "c 3"]
        self.assertIsNone(console.difference(printed, printed))
        self.assertIsNone(console.difference(["head", "..."], printed))
        self.assertIsNone(console.difference(["head", "...", "b 2", "..."], printed))
        self.assertIsNone(console.difference(["...", "b 2", "c 3"], printed))
        self.assertIn("b 7", console.difference(["head", "...", "b 7", "..."], printed))
        self.assertIsNotNone(console.difference(["head", "...", "b 2", "...", "a 1", "..."], printed))
        self.assertIn("c 3", console.difference(["head", "a 1", "b 2"], printed))

    def test_wall_clock_time_is_not_compared(self):
        self.assertIsNone(console.difference(["x; 431 ms of simulation"], ["x; 1.2 s of simulation"]))
        self.assertIsNotNone(console.difference(["x; 431 ms of warm-up"], ["x; 1.2 s of warm-up"]))

    def test_an_update_keeps_the_cuts(self):
        printed = ["new head", "a 1", "b 9", "c 3"]
        self.assertEqual(console.updated(["head", "...", "b 2", "..."], printed), ["new head", "...", "b 9", "..."])
        self.assertEqual(console.updated(["head"], printed), printed)

    def test_a_command_that_reads_an_absent_trace_is_left_out(self):
        self.assertTrue(console.needs_a_trace("kvsim run s.yaml --set workload.trace.path=t.jsonl", "/nowhere"))
        self.assertFalse(console.needs_a_trace("kvsim run s.yaml", "/nowhere"))

    def test_a_command_goes_on_after_a_backslash(self):
        block = pages.Block("p", 1, "console", "$ kvsim a \\\n    --b\nout\n$ kvsim c\n", "")
        self.assertEqual(console.commands(block), [["kvsim a --b", ["out"]], ["kvsim c", []]])


class Figures(Pages):
    BLOCK = "```console\n$ kvsim run\nper output token  17.2 ms, 0.8816 to 1.464 of it\n```\n"

    def check(self, prose, update=False):
        page = self.write(self.BLOCK + prose)
        return figures.check(page, self.folder.name, update), pages.read(page)[len(self.BLOCK):]

    def test_a_marked_figure_is_that_of_the_block_above_it(self):
        self.assertEqual(self.check("So 17.2 ms<!-- = /token +([\\d.]+)/ -->.")[0], 0)
        self.assertEqual(self.check("So 17 ms<!-- = /token +([\\d.]+)/ -->.")[0], 0)
        self.assertEqual(self.check("So 17.1 ms<!-- = /token +([\\d.]+)/ -->.")[0], 1)
        self.assertEqual(self.check("15 to 25 ms<!-- = /token +([\\d.]+)/ * /to ([\\d.]+)/ -->")[0], 0)
        self.assertEqual(self.check("So 17.2 ms<!-- = /gap +([\\d.]+)/ -->.")[0], 1, "nothing matches")
        self.assertEqual(self.check("So 17.2 ms<!-- = token -->.")[0], 1, "no pattern")

    def test_a_marked_figure_may_be_another_pages(self):
        self.write("| all | 923 | 10.3 % |\n", "docs/other.md")
        self.assertEqual(self.check("10 %<!-- = docs/other.md /all \\| \\d+ \\| ([\\d.]+)/ -->")[0], 0)

    def test_an_update_writes_the_figure_alone(self):
        stale = "15 to 27 ms<!-- = /token +([\\d.]+)/ * /to ([\\d.]+)/ -->, 9.99 ms<!-- = /token +([\\d.]+)/ -->."
        failures, text = self.check(stale, update=True)
        self.assertEqual((failures, text), (0, stale.replace("27", "25").replace("9.99", "17.20")))


class References(Pages):
    def check(self, text):
        self.write("int here() { return 0; }\n", "sim/here.cpp")
        checker = references.Checker(self.folder.name, "/bin/false")
        checker.check(self.write(text, "docs/page.md"))
        return checker.failures

    def test_what_is_there_passes(self):
        self.assertEqual(self.check("# A b\n`sim/here.cpp`, `here.cpp`, `sim/*.cpp`, `sim/here`\n"), 0)
        self.assertEqual(self.check("# A b\n[a](#a-b), [p](page.md)\n"), 0)
        self.assertEqual(self.check("`here.cpp`: `here`\n"), 0)

    def test_what_is_not_there_fails(self):
        for text in ("`sim/gone.cpp`", "`gone.h`", "`sim/{here,gone}.cpp`", "[a](gone.md)", "[a](#gone)",
                     "`here.cpp`: `gone`", "`kvsim gone`"):
            with self.subTest(text):
                self.assertEqual(self.check(text + "\n"), 1)


    def test_an_excerpt_of_a_file_has_its_lines(self):
        self.write("a: 1\nb: 2\n", "scenarios/s.yaml")
        self.assertEqual(self.check("`scenarios/s.yaml`:\n\n```yaml\nb: 2\n```\n"), 0)
        self.assertEqual(self.check("`scenarios/s.yaml`:\n\n```yaml\nb: 3\n```\n"), 1)


class Changes(Pages):
    def test_lines_come_in_where_the_lines_without_plus_are(self):
        path = self.write("one\ntwo\nthree\n", "x.cpp")
        extension.apply(pages.Block("p", 1, "diff", " two\n+new\n three\n", "x.cpp"), path)
        self.assertEqual(pages.read(path), "one\ntwo\nnew\nthree\n")

    def test_lines_that_are_not_there_once_are_refused(self):
        for text in ("one\n", "two\ntwo\n"):
            path = self.write(text, "x.cpp")
            with self.assertRaises(SystemExit):
                extension.apply(pages.Block("p", 1, "diff", " two\n+new\n", "x.cpp"), path)


if __name__ == "__main__":
    unittest.main()
