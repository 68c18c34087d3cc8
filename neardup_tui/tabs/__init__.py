"""The tabs. Each is a widget: data comes down by reactives, messages go up."""
