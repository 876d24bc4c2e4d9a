"""``accord label-studio``: a machine learning backend for Label Studio."""

from __future__ import annotations

from pathlib import Path

import click

from accord.cli.program import debug_option
from accord.cli.terminal import computing, note


@click.command("label-studio", short_help="Be a machine learning backend of Label Studio.")
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), default="accord-label-studio", show_default=True,
    help="Where annotations are kept, so that models are there again after a restart.",
)  # fmt: skip
@click.option(
    "--url", envvar="LABEL_STUDIO_URL", metavar="URL",
    help="Where Label Studio is, to fetch annotations from before it knew this program.",
)  # fmt: skip
@click.option("--api-key", envvar="LABEL_STUDIO_API_KEY", metavar="KEY", show_envvar=True,
              help="Key of its API, for --url; better given by the environment.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), help="Port.  [default: the first free one from 9090 on]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--allow-host", "names", multiple=True, metavar="NAME", help="Name under which Label Studio reaches it.")
@debug_option
def label_studio(
    folder: Path, url: str | None, api_key: str | None, port: int | None, host: str, names: tuple[str, ...]
) -> None:
    """Give predictions to a Label Studio, and learn from its annotations.

    It prints an address. Paste it into Label Studio: Settings, Model, Connect Model. From then on every annotation is
    learned from in the background, and tasks get predictions with scores: spans of projects with <Labels> on a <Text>,
    classes of projects with <Choices>. One program serves many projects.

    Annotations from before are learned when Label Studio starts a training (Settings, Model, Start Training), if --url
    and an API key are given.

    \b
    Examples:
      accord label-studio
      LABEL_STUDIO_API_KEY=... accord label-studio --url http://localhost:8080
    """
    if (url is None) != (api_key is None):
        raise click.UsageError("--url and --api-key belong together; give both, or none")
    if url is not None and not url.startswith(("http://", "https://")):
        raise click.UsageError("--url begins with http:// or https://")
    from accord.labeling.bridges.studio import Studio
    from accord.labeling.bridges.studio_app import serve

    with computing():
        serve(Studio(folder, url, api_key), host=host, port=port, names=names, announce=note)
