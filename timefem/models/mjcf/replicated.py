"""What names things that <replicate> has copied is copied, too."""


def replicated(given, copies):
    """Attributes with the names of the copies, list of dict.

    Parameters
    ----------
    given : dict
    copies : dict
        Name -> what is added to it.
    """
    suffixes = next((copies[value] for key, value in given.items() if key != "name" and value in copies), None)
    if suffixes is None:
        return [given]
    found = []
    for suffix in suffixes:
        one = {key: value + suffix if value in copies and suffix in copies[value] and key != "name" else value
               for key, value in given.items()}
        found.append(one | ({"name": given["name"] + suffix} if given.get("name") else {}))
    return found
