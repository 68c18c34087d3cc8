"""The building blocks of the tabs. A widget is given data and posts messages; it knows neither app nor screen."""
