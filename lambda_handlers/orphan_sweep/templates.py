"""Launch template versions that nothing uses any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from orphan_sweep.aws import Document, pages, tags_of
from orphan_sweep.fleet import Belongings
from orphan_sweep.leftovers import Account, Leftovers, NotFreed, attempt, is_gone
from orphan_sweep.marks import read_version_marks, write_version_marks
from orphan_sweep.prices import free_of_charge
from orphan_sweep.things import Sort, Thing
from runtime.aws_errors import AWS_ERRORS

_PER_PAGE = 200


def own_templates(account: Account) -> Iterator[Document]:
    """Yield the launch templates that carry the fleet's tag."""
    ask = partial(account.clients.ec2.describe_launch_templates, Filters=account.own_tag(), MaxResults=_PER_PAGE)
    for page in pages("reading launch templates", ask, account.patience):
        yield from page["LaunchTemplates"]


def versions_of(account: Account, template_id: str) -> Iterator[Document]:
    """Yield every version of a launch template."""
    versions = account.clients.ec2.describe_launch_template_versions
    ask = partial(versions, LaunchTemplateId=template_id, MaxResults=_PER_PAGE)
    for page in pages(f"reading the versions of {template_id}", ask, account.patience):
        yield from page["LaunchTemplateVersions"]


def versions_that_count(account: Account, belongings: Belongings) -> Iterator[Document]:
    """Yield the latest and the default version of every launch template of the account, and every version of those
    that are the fleet's, or of which a group uses another version."""
    versions = account.clients.ec2.describe_launch_template_versions
    ask = partial(versions, Versions=["$Latest", "$Default"], MaxResults=_PER_PAGE)
    seen: set[tuple[str, str]] = set()
    for page in pages("reading all launch templates", ask, account.patience):
        yield from page["LaunchTemplateVersions"]
        seen.update((each["LaunchTemplateId"], str(each["VersionNumber"])) for each in page["LaunchTemplateVersions"])
    used = {id for id, version in belongings.versions - seen if id in belongings.templates and version.isdigit()}
    for id in sorted(used.union(each["LaunchTemplateId"] for each in own_templates(account))):
        try:
            yield from versions_of(account, id)
        except AWS_ERRORS as error:
            # Members live on after the template that they were launched from.
            if not is_gone(error):
                raise


class TemplateVersions(Leftovers):
    """Versions of the fleet's own launch template. They have no tags: the template holds the notes of all."""

    sort = Sort.TEMPLATE_VERSION

    def find(self, belongings: Belongings) -> list[Thing]:
        return [thing for template in own_templates(self._account) for thing in self._versions(template, belongings)]

    def again(self, ids: Sequence[str], belongings: Belongings) -> list[Thing]:
        return [thing for thing in self.find(belongings) if thing.id in set(ids)]

    def free(self, thing: Thing) -> None:
        template, version = _parts(thing)
        act = partial(
            self._clients.ec2.delete_launch_template_versions, LaunchTemplateId=template, Versions=[str(version)]
        )
        answer = self._patience.call(f"deleting {thing.id}", act)
        # A refusal does not make the call fail.
        for failed in answer.get("UnsuccessfullyDeletedLaunchTemplateVersions", []):
            code = failed.get("ResponseError", {}).get("Code", "Unknown")
            if code not in ("launchTemplateIdDoesNotExist", "launchTemplateVersionDoesNotExist"):
                raise NotFreed(code)

    def note(self, marked: Sequence[Thing], unmarked: Sequence[Thing], mark: str) -> Mapping[str, str]:
        """Rewrite each template's notes once. A note of a version that is gone stays until then and does no harm: its
        number is never given again."""
        refused: dict[str, str] = {}
        for template, tags in {_parts(thing)[0]: thing.tags for thing in (*marked, *unmarked)}.items():
            notes = read_version_marks(self._mark_of(tags))
            for thing in marked:
                if _parts(thing)[0] == template:
                    notes[_parts(thing)[1]] = mark
            for thing in unmarked:
                if _parts(thing)[0] == template:
                    notes.pop(_parts(thing)[1], None)
            why = attempt(partial(self._write, template, write_version_marks(notes)))
            if why is not None:
                refused[template] = why
        return refused

    def _write(self, template: str, notes: str) -> None:
        key = self._account.settings.orphan_tag_key
        if notes:
            tags = [{"Key": key, "Value": notes}]
            act = partial(self._clients.ec2.create_tags, Resources=[template], Tags=tags)
        else:
            act = partial(self._clients.ec2.delete_tags, Resources=[template], Tags=[{"Key": key}])
        self._patience.call(f"noting versions on {template}", act)

    def _versions(self, template: Document, belongings: Belongings) -> Iterator[Thing]:
        tags, id = tags_of(template), template["LaunchTemplateId"]
        notes = read_version_marks(self._mark_of(tags))
        for document in versions_of(self._account, id):
            number = document["VersionNumber"]
            yield Thing(
                sort=self.sort,
                id=f"{id}:{number}",
                tags=tags,
                created_at=document["CreateTime"],
                # The stack keeps the template, which is why nothing but the versions may be touched.
                belongs_to=None if id in belongings.own else "a template that the fleet's stack has not made",
                used_by=_use(template, document, belongings),
                mark=notes.get(number),
                price=free_of_charge("AWS bills no version"),
            )


def _use(template: Document, version: Document, belongings: Belongings) -> str | None:
    number = version["VersionNumber"]
    if version["DefaultVersion"] or number == template["DefaultVersionNumber"]:
        return "the default version"
    if number == template["LatestVersionNumber"]:
        return "the latest version"
    names = (template["LaunchTemplateId"], template["LaunchTemplateName"])
    if any((name, str(number)) in belongings.versions for name in names):
        return "a group, or a member of one"
    return None


def _parts(thing: Thing) -> tuple[str, int]:
    template, _, version = thing.id.partition(":")
    return template, int(version)
