"""CloudFormation templates: where they lie, and what their values are as far as a template tells."""
