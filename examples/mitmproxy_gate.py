"""The gate as an addon of mitmproxy: `mitmdump -s examples/mitmproxy_gate.py`.

Calls of the tool `bash` never reach the client, whatever it is written in, and whichever of the three wire formats it speaks.
`PENSTOCK_HOSTS` names the hosts whose answers are judged.

Needs mitmproxy (`pip install "penstock[mitmproxy]"`).
"""

from __future__ import annotations

import os

from penstock.integrations.mitmproxy import GateAddon
from penstock.policies import ToolRules

HOSTS = os.environ.get("PENSTOCK_HOSTS", "api.openai.com,api.anthropic.com").split(",")

addons = [GateAddon(ToolRules(deny=["bash"]), hosts=HOSTS)]

if __name__ == "__main__":
    print("judging the answers of", *HOSTS)
