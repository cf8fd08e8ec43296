"""Has no fault."""

from manners import serve

serve()
