"""JUnit XML stays well-formed whatever its texts are."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from idkmesh_rules.render.junit import JUnitCase, JUnitSuite, Kind, Trouble, junit_xml

troubles = st.one_of(st.none(), st.builds(Trouble, st.text(), st.text(), st.sampled_from(Kind)))
suites = st.builds(JUnitSuite, st.text(), st.lists(st.builds(JUnitCase, st.text(), st.text(), troubles)).map(tuple))


@given(st.lists(suites, max_size=3))
def test_any_text_gives_a_document_whose_counts_are_those_of_its_cases(given_suites: list[JUnitSuite]) -> None:
    root = ElementTree.fromstring(junit_xml(given_suites).encode("utf-8"))
    cases = [case for suite in given_suites for case in suite.cases]
    assert root.get("tests") == str(len(root.findall(".//testcase"))) == str(len(cases))
    for kind, name in zip(Kind, ("failures", "errors", "skipped"), strict=True):
        found = root.findall(f".//{kind.value}")
        assert root.get(name) == str(len(found))
        assert len(found) == sum(case.trouble is not None and case.trouble.kind is kind for case in cases)
