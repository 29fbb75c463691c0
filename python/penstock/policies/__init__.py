"""Policies that are ready to use. They can be put together with `penstock.all_of`."""

from penstock.policies.buffered import Buffered
from penstock.policies.dry_run import DryRun
from penstock.policies.llm_judge import LlmJudge
from penstock.policies.rewrite_text import RewriteText
from penstock.policies.tool_rules import ToolRule, ToolRules
from penstock.policies.tool_schemas import ToolSchemas
from penstock.policy import AllowAll

__all__ = ["AllowAll", "Buffered", "DryRun", "LlmJudge", "RewriteText", "ToolRule", "ToolRules", "ToolSchemas"]
